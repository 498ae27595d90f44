// Voice activity: the package's times from probabilities, and the module on the golden's clip.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "modules/speech_times.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"

using namespace hub;

TEST_CASE("times of speech are get_speech_timestamps's") {
  // A line: what was given to silero-vad 6.2.3 (lengths in milliseconds, but for the longest
  // stretch in seconds), tenths of probability a window, and the times in samples that it gave.
  const std::string table = read_file(media_path("speech_times.txt"));
  int rows = 0;
  for (const std::string_view line : lines(table)) {
    INFO(line);
    std::istringstream in{std::string(line)};
    SpeechLimits limits;
    std::string longest, tenths;
    int64_t samples = 0;
    in >> limits.threshold >> limits.silence_threshold >> limits.min_speech >> longest >>
        limits.min_silence >> limits.split_silence >> limits.pad >> samples >> tenths;
    for (double* length :
         {&limits.min_speech, &limits.min_silence, &limits.split_silence, &limits.pad})
      *length = 16000 * *length / 1000;
    limits.max_speech = 16000 * std::stod(longest);
    std::vector<float> probabilities;
    for (const char c : tenths) probabilities.push_back(static_cast<float>(c - '0') / 10);
    std::vector<int64_t> wanted, got;
    for (int64_t time = 0; in >> time;) wanted.push_back(time);
    for (const SpeechTime& time : speech_times(probabilities, 512, samples, limits))
      got.insert(got.end(), {time.start, time.end});
    CHECK(got == wanted);
    ++rows;
  }
  CHECK(rows == 48);
}

namespace {

Audio speech() {
  const std::string path = HUB_SOURCE_DIR "/registry/silero-vad/examples/speech16k.flac";
  return decode_audio(read_file(path), path);
}

json segments_of(Module& module, Audio audio) {
  Sample sample;
  sample.name = "clip";
  sample.audio = std::move(audio);
  return module.task().predict({&sample, 1}, {}).at(0).at("segments");
}

/// silero-vad with other members in its preprocess or postprocess.
std::unique_ptr<Module> changed(const std::function<void(Manifest&)>& change) {
  static Silent silent;
  Installed module = installed("silero-vad");
  change(module.manifest);
  module.plans.clear();
  return Module::open(std::move(module), silent);
}

}  // namespace

TEST_CASE("silero-vad without padding has the golden's stretches") {
  const auto module = changed([](Manifest& m) {
    m.postprocess["min_speech"] = m.postprocess["min_silence"] = m.postprocess["pad"] = 0;
  });
  const json got = segments_of(*module, speech());
  const double wanted[][2] = {{1.28, 2.464}, {2.56, 8.128}, {8.352, 11.008}};
  REQUIRE(got.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(got[i]["start"].get<double>() == Approx(wanted[i][0]).margin(1e-9));
    CHECK(got[i]["end"].get<double>() == Approx(wanted[i][1]).margin(1e-9));
  }
}

TEST_CASE("the size of blocks and the end of the clip change nothing") {
  const auto module = changed([](Manifest&) {});
  const json whole = segments_of(*module, speech());
  CHECK(segments_of(*changed([](Manifest& m) { m.preprocess["block"] = 7; }), speech()) == whole);
  Audio longer = speech();
  longer.samples.resize(longer.samples.size() + 1000);
  CHECK(segments_of(*module, longer) == whole);
  CHECK(segments_of(*module, {16000, std::vector<float>(100)}) == json::array());
  CHECK(segments_of(*module, {16000, {}}) == json::array());
}

TEST_CASE("sounds of other rates are resampled, and give times in seconds") {
  const auto module = changed([](Manifest&) {});
  const json whole = segments_of(*module, speech());
  for (const int rate : {8000, 44100}) {
    const json got = segments_of(*module, resample(speech(), rate));
    REQUIRE(got.size() == whole.size());
    for (size_t i = 0; i < got.size(); ++i) {
      for (const char* end : {"start", "end"})
        CHECK(got[i][end].get<double>() == Approx(whole[i][end].get<double>()).margin(0.033));
    }
  }
}

TEST_CASE("a speech limit cuts long stretches") {
  const auto module = changed([](Manifest& m) {
    m.postprocess["max_speech"] = 3;
    m.postprocess["split_silence"] = 0.098;
  });
  const json got = segments_of(*module, speech());
  CHECK(got.size() > 2);
  for (const json& s : got) CHECK(s["end"].get<double>() - s["start"].get<double>() <= 3);
}

TEST_CASE("manifests that do not fit are refused") {
  const auto message = [](const std::function<void(Manifest&)>& change) {
    return error_of(Code::refused, [&] { changed(change)->task(); });
  };
  CHECK_THAT(message([](Manifest& m) { m.postprocess["pad"] = -1; }), Catch::Contains("'pad'"));
  CHECK_THAT(message([](Manifest& m) { m.preprocess["context"] = 513; }),
             Catch::Contains("'context'"));
  CHECK_THAT(message([](Manifest& m) { m.preprocess["color"] = 1; }), Catch::Contains("'color'"));
}
