// Music transcription: the package's notes from matrices, and the module on sounds of any length.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "modules/notes.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"

using namespace hub;

TEST_CASE("notes are output_to_notes_polyphonic's") {
  // A line: pitches, the limits, what was given to basic-pitch 0.4.0 (tenths, frame by frame:
  // onsets, sounds), and the notes that it gave, in its order: start, end, pitch, amplitude.
  const std::string table = read_file(media_path("notes.txt"));
  const auto tenths = [](const std::string& digits) {
    std::vector<float> values;
    for (const char c : digits) values.push_back(static_cast<float>(c - '0') / 10);
    return values;
  };
  int rows = 0;
  for (const std::string_view line : lines(table)) {
    INFO(line);
    std::istringstream in{std::string(line)};
    size_t pitches = 0;
    NoteLimits limits;
    std::string onsets, sounds;
    in >> pitches >> limits.onset >> limits.sound >> limits.shortest >> onsets >> sounds;
    const auto got = find_notes(tenths(onsets), tenths(sounds), pitches, limits);
    size_t i = 0;
    for (Note wanted; in >> wanted.start >> wanted.end >> wanted.pitch >> wanted.amplitude; ++i) {
      REQUIRE(i < got.size());
      CHECK(got[i].start == wanted.start);
      CHECK(got[i].end == wanted.end);
      CHECK(got[i].pitch == wanted.pitch);
      CHECK(got[i].amplitude == Approx(wanted.amplitude).margin(1e-5));
    }
    CHECK(i == got.size());
    ++rows;
  }
  CHECK(rows == 32);
  CHECK(find_notes({}, {}, 88, {}).empty());
}

TEST_CASE("basic-pitch hears the four notes, wherever the windows lie") {
  Silent silent;
  const auto module = default_module("basic-pitch", silent);
  const std::string path = HUB_SOURCE_DIR "/registry/basic-pitch/examples/notes22k.flac";
  Sample sample;
  sample.name = "notes";
  sample.audio = decode_audio(read_file(path), path);
  const Audio notes = sample.audio;
  // After silence of one window and a half the tune begins in another window.
  const size_t silence = 60'000;
  sample.audio.samples.insert(sample.audio.samples.begin(), silence, 0.0F);
  const json got = module->task().predict({&sample, 1}, {}).at(0).at("notes");
  std::vector<int> pitches;
  std::vector<double> starts;
  for (const json& note : got) {
    if (note["score"].get<double>() < 0.5) continue;
    pitches.push_back(note["pitch"].get<int>());
    starts.push_back(note["start"].get<double>() - static_cast<double>(silence) / notes.rate);
  }
  CHECK(pitches == std::vector<int>{60, 64, 67, 72});
  for (size_t i = 0; i < starts.size(); ++i)
    CHECK(starts[i] == Approx(0.5 * static_cast<double>(i)).margin(0.05));
  for (const size_t samples : {0, 1, 300}) {
    sample.audio = {notes.rate, {notes.samples.begin(), notes.samples.begin() + samples}};
    CHECK(module->task().predict({&sample, 1}, {}).at(0).at("notes") == json::array());
  }
}
