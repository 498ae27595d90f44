// Sounds: decoding of every format, what is refused, resampling, WAV out.
#include "modules/audio.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/random.h"
#include "tests/error_of.h"
#include "tests/modules/media.h"
#include "tests/modules/sound.h"

using namespace hub;

namespace {

std::string bytes_of(const std::string& name) { return read_file(media_path(name)); }

double furthest(const float* a, const float* b, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

double furthest_from(const std::string& npy, const std::vector<float>& got) {
  const Tensor wanted = read_npy(MappedFile::open(media_path(npy)));
  REQUIRE(wanted.dtype() == DType::f32);
  REQUIRE(wanted.numel() == static_cast<int64_t>(got.size()));
  return furthest(wanted.data<float>(), got.data(), got.size());
}

std::string little(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
  return out;
}

/// A WAV file of 8-bit samples whose header says what it is told to.
std::string wave(uint32_t rate, uint16_t channels, uint32_t said, const std::string& samples) {
  return "RIFF" + little(36 + said, 4) + "WAVEfmt " + little(16, 4) + little(1, 2) +
         little(channels, 2) + little(rate, 4) + little(rate * channels, 4) + little(channels, 2) +
         little(8, 2) + "data" + little(said, 4) + samples;
}

const char* const files[] = {"tone.flac",      "tone.ogg",    "tone.opus",           "tone.mp3",
                             "tone_float.wav", "tone_u8.wav", "ext24_stereo_16k.wav"};

}  // namespace

TEST_CASE("every format becomes one channel at its own rate") {
  struct Row {
    std::string file;
    int rate;
    size_t samples;
    double volume, tolerance;
  };
  // Two channels, one at half the volume, have three quarters of it. Opus has but one rate inside.
  for (const Row& row : std::vector<Row>{{"tone.flac", 16000, 4800, 0.375, 1e-4},
                                         {"tone_float.wav", 16000, 1600, 0.5, 0},
                                         {"tone_u8.wav", 16000, 4800, 0.375, 0.01},
                                         {"tone.ogg", 16000, 4800, 0.5, 0.1},
                                         {"tone.opus", 16000, 4800, 0.5, 0.1},
                                         {"tone.mp3", 16000, 4800, 0.5, 0.1}}) {
    INFO(row.file);
    const Audio audio = decode_audio(bytes_of(row.file), row.file);
    CHECK(audio.rate == row.rate);
    REQUIRE(audio.samples.size() == row.samples);
    CHECK(furthest(audio.samples.data(), tone(row.rate, row.samples, row.volume).data(),
                   row.samples) <= row.tolerance);
  }
}

TEST_CASE("WAV in the extensible form, 24 bits, two channels: M16") {
  const Audio audio = decode_audio(bytes_of("ext24_stereo_16k.wav"), "a.wav");
  CHECK(audio.rate == 16000);
  CHECK(furthest_from("ext24_stereo_16k.mono.npy", audio.samples) <= 1e-6);
}

TEST_CASE("tags around an MP3 are skipped") {
  const std::string mp3 = bytes_of("tone.mp3");
  const std::vector<float> plain = decode_audio(mp3, "a.mp3").samples;
  const std::string front("ID3\3\0\0\0\0\x0f\0", 10);
  CHECK(decode_audio(front + std::string(15 * 128, '\0') + mp3, "a.mp3").samples == plain);
  CHECK(decode_audio(mp3 + "APETAGEX" + std::string(9000, 'x'), "a.mp3").samples == plain);
}

TEST_CASE("what is no sound, or not all of one, is refused by name") {
  const std::string flac = bytes_of("tone.flac"), ogg = bytes_of("tone.ogg"),
                    mp3 = bytes_of("tone.mp3"), pcm = bytes_of("tone_u8.wav"),
                    nan("\0\0\xc0\x7f", 4);
  std::string not_finite = bytes_of("tone_float.wav");
  not_finite.replace(not_finite.size() - 400, 4, nan);
  struct Row {
    std::string bytes, wanted;
  };
  for (const Row& row : std::vector<Row>{
           {"", "a.wav is not a sound: it is empty"},
           {"RIFF", "is not a sound: it begins with 'RIFF'; wanted WAV, FLAC, Ogg or MP3"},
           {"Dear Sir or Madam,", "is not a sound: it begins with 'Dear Sir or '"},
           {bytes_of("solid_200_100_50.png"), "is not a sound"},
           {pcm.substr(0, 2000), "is truncated: it has 1956 of 9600 bytes of samples"},
           {flac.substr(0, 4000), "is damaged or cut: "},
           {mp3.substr(0, 1200), "is truncated: it has "},
           {"\xff\xfb" + std::string(4000, 'a'), "holds no sound"},
           {ogg.substr(0, ogg.size() - 1), "is truncated: its last page is cut"},
           {ogg.substr(0, ogg.rfind("OggS")), "is truncated: its last page is missing"},
           {wave(16000, 1, 0, ""), "holds no sound: it has no samples"},
           {wave(16000, 0, 4, "abcd"), "is damaged or cut: "},
           {wave(10, 1, 4, "abcd"), "has a rate of 10 samples a second, wanted 1000 to 768000"},
           {not_finite, "is damaged: sample "}}) {
    CHECK_THAT(error_of(Code::refused, [&] { decode_audio(row.bytes, "a.wav"); }),
               Catch::StartsWith("a.wav ") && Catch::Contains(row.wanted));
  }
  // A pipe cannot go back to write the size.
  CHECK(decode_audio(wave(16000, 1, 0xffff'ffff, "abcd"), "pipe.wav").samples.size() == 4);
}

TEST_CASE("the limit holds whatever the header says") {
  for (const char* name : files) {
    INFO(name);
    const auto count = static_cast<int64_t>(decode_audio(bytes_of(name), name).samples.size());
    CHECK(error_of(Code::refused, [&] { decode_audio(bytes_of(name), name, count - 1); }) ==
          concat(name, " has more than ", count - 1,
                 " samples, which is the limit; cut it into pieces"));
    CHECK_NOTHROW(decode_audio(bytes_of(name), name, count));
  }
}

TEST_CASE("any bytes give a sound or a refusal") {
  int refused = 0, read = 0;
  const auto judge = [&](const std::string& bytes) {
    try {
      const Audio audio = decode_audio(bytes, "a.wav", 1 << 20);
      CHECK((audio.rate > 0 && !audio.samples.empty()));
      ++read;
    } catch (const Error& e) {
      CHECK(e.code() == Code::refused);
      CHECK_THAT(e.what(), Catch::StartsWith("a.wav "));
      ++refused;
    }
  };
  for (const char* name : files) {
    const std::string whole = bytes_of(name);
    for (size_t size = 0; size < whole.size(); size += 1 + size / 20) judge(whole.substr(0, size));
    SplitMix64 random(whole.size());
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      const size_t reach = i % 2 == 0 ? std::min<size_t>(bytes.size(), 128) : bytes.size();
      for (int k = 0; k <= i % 4; ++k)
        bytes[random.next() % reach] = static_cast<char>(random.next());
      judge(bytes);
    }
  }
  CHECK(refused > 300);
  CHECK(read > 300);
}

TEST_CASE("resampling gives soxr's numbers") {
  // The .npy files are what soxr.resample of the Python package 1.0 gives for the same tone.
  struct Row {
    int from, to;
    size_t samples;
  };
  for (const Row& row : {Row{44100, 16000, 2205}, Row{8000, 16000, 800}, Row{16000, 22050, 1600}}) {
    INFO(row.from << " to " << row.to);
    const Audio audio = resample({row.from, tone(row.from, row.samples)}, row.to);
    CHECK(audio.rate == row.to);
    CHECK(furthest_from(concat("tone_", row.from, "_to_", row.to, ".npy"), audio.samples) <= 1e-6);
  }
  const Audio same = resample({16000, {0.25F, -1}}, 16000);
  CHECK(same.samples == std::vector<float>{0.25F, -1});
  CHECK(resample({8000, {}}, 16000).samples.empty());
  CHECK(resample({44100, {0.5F}}, 16000).samples.size() == 1);
  error_of(Code::refused, [] { resample({8000, std::vector<float>(100)}, 16000, 199); });
  error_of(Code::usage, [] { resample({0, {1}}, 16000); });
}

TEST_CASE("WAV out and in again") {
  const Audio audio{22050, {0, 1 / 32768.0F, -1, 0.5F, 32767 / 32768.0F, 1.5F, -7}};
  const Audio back = decode_audio(encode_wav(audio), "a.wav");
  CHECK(back.rate == 22050);
  CHECK(back.samples ==
        std::vector<float>{0, 1 / 32768.0F, -1, 0.5F, 32767 / 32768.0F, 32767 / 32768.0F, -1});
  error_of(Code::numeric, [] { encode_wav({16000, {std::nanf("")}}); });
  error_of(Code::usage, [] { encode_wav({0, {}}); });
}
