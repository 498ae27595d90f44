// Speaker embedding: librosa's mel spectrogram, and the golden's vectors.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "modules/mel.h"
#include "modules/vectors.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"
#include "tests/modules/sound.h"

using namespace hub;

TEST_CASE("a mel spectrogram is librosa's") {
  // librosa.feature.melspectrogram (0.11) of the same tone, n_fft 400, hop_length 160, n_mels 40.
  std::vector<float> sound = tone(16000, 2100);
  sound.erase(sound.begin(), sound.begin() + 100);
  const Tensor wanted = read_npy(MappedFile::open(media_path("tone_mel40.npy")));
  const std::vector<float> got = MelSpectrogram({})(sound);
  REQUIRE(wanted.shape() == Shape{13, 40});
  REQUIRE(got.size() == 13 * 40);
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(wanted.data<float>()[i]).epsilon(1e-5).margin(1e-7));
  CHECK(MelSpectrogram({})({}).size() == 40);
}

TEST_CASE("vectors of unit length, and how alike they are") {
  std::vector<float> v{3, 4};
  to_unit_length(v);
  CHECK(v == std::vector<float>{0.6F, 0.8F});
  std::vector<float> zero{0, 0};
  to_unit_length(zero);
  CHECK(zero == std::vector<float>{0, 0});
  CHECK(cosine(v, {{6, 8}}) == Approx(1));
  CHECK(cosine(v, {{4, -3}}) == Approx(0).margin(1e-7));
  CHECK(cosine(v, zero) == 0);
}

namespace {

Sample piece(const std::string& name) {
  const std::string path = HUB_SOURCE_DIR "/registry/resemblyzer/examples/" + name;
  Sample sample;
  sample.name = name;
  sample.audio = decode_audio(read_file(path), path);
  return sample;
}

std::vector<float> embedding(Module& module, Audio audio) {
  Sample sample;
  sample.name = "clip";
  sample.audio = std::move(audio);
  return module.task().predict({&sample, 1}, {}).at(0).at("embedding").get<std::vector<float>>();
}

}  // namespace

TEST_CASE("two pieces of one voice are as alike as the golden says") {
  Silent silent;
  const auto module = default_module("resemblyzer", silent);
  const std::vector<Sample> both{piece("first.flac"), piece("second.flac")};
  const json pair = module->task().predict(both, {.pair = true});
  REQUIRE(pair.size() == 1);
  CHECK(pair[0]["similarity"].get<double>() == Approx(0.8834511638).margin(1e-5));
  const json apart = module->task().predict(both, {});
  CHECK(apart.at(1)["embedding"].get<std::vector<float>>() ==
        embedding(*module, both[1].audio));  // no neighbour matters
  error_of(Code::usage, [&] { module->task().predict({both.data(), 1}, {.pair = true}); });
}

TEST_CASE("quiet, short and silent sounds have embeddings") {
  Silent silent;
  const auto module = default_module("resemblyzer", silent);
  const Audio whole = piece("first.flac").audio;
  const std::vector<float> usual = embedding(*module, whole);
  Audio quiet = whole, quieter = whole;
  for (float& x : quiet.samples) x *= 0.01F;
  for (float& x : quieter.samples) x *= 0.001F;
  CHECK(cosine(embedding(*module, quiet), embedding(*module, quieter)) > 0.9999);
  CHECK(cosine(embedding(*module, quiet), usual) > 0.7);
  for (const size_t samples : {0, 1, 1000, 25600, 25601, 38000}) {
    INFO(samples);
    const std::vector<float> got =
        embedding(*module, {16000, {whole.samples.begin(), whole.samples.begin() + samples}});
    CHECK(got.size() == 256);
    for (const float x : got) CHECK(std::isfinite(x));
  }
  // More parts than one run of the network takes.
  Audio longer{16000, {}};
  for (int i = 0; i < 9; ++i)
    longer.samples.insert(longer.samples.end(), whole.samples.begin(), whole.samples.end());
  CHECK(cosine(embedding(*module, longer), usual) > 0.95);
}
