// ncnn: tests/data/ncnn/make.py made the network, ncnn the answers.
#include <catch2/catch.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "runtime/import/import.h"
#include "runtime/runtime.h"
#include "tests/error_of.h"
#include "tests/runtime/answers.h"

namespace hub {
namespace {

std::string data(const std::string& name) { return HUB_SOURCE_DIR "/tests/data/ncnn/" + name; }

struct Pair final : Files {
  std::string layers, weights;
  MappedFile open(const RelPath& path) const override {
    return MappedFile::of(path.str() == "layers" ? layers : weights);
  }
  bool has(const RelPath&) const override { return true; }
};

Program import_pair(const std::string& layers, const std::string& weights) {
  Pair files;
  files.layers = layers;
  files.weights = weights;
  return import_ncnn(files, RelPath::parse("layers"), RelPath::parse("weights"));
}

}  // namespace

TEST_CASE("layers of ncnn give ncnn's numbers") {
  const Program program = import_file(data("layers.param"));
  const Tensor x = read_npy(MappedFile::open(data("x.npy")));
  const Tensor answers = read_npy(MappedFile::open(data("answers.npy")));
  REQUIRE(program.outputs.size() == 58);
  CHECK(program[program.outputs[0]].name == "Convolution_3");
  check_answers(program, x, answers);
}

TEST_CASE("what ncnn's importer does not know is refused by its name") {
  struct Row {
    const char* layers;
    Code code;
    const char* why;
  };
  const Row rows[] = {
      {"", Code::refused, "not 7767517"},
      {"7767517\n1\n", Code::refused, "line 2 is not the numbers"},
      {"7767517\n2 1\nInput x 0 1 x\n", Code::refused, "1 layers where line 2 says 2"},
      {"7767517\n1 1\nInput x 0\n", Code::refused, "without the numbers of its blobs"},
      {"7767517\n1 1\nGRU g 1 1 x y\n", Code::unsupported, "layer GRU 'g' cannot be imported yet"},
      {"7767517\n1 1\nInput x 0 9 x\n", Code::refused, "9 outputs, and 1 words"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 z y\n", Code::refused,
       "line 4: ReLU 'r': blob 'z' is read before"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x x\n", Code::refused, "'x' is written twice"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 7=1\n", Code::unsupported,
       "parameter 7 cannot be imported"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y -23300=1,2\n", Code::unsupported,
       "list 0 cannot be imported"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 0=a\n", Code::refused, "a number is wanted"},
      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 0=1 0=1\n", Code::refused, "there twice"},
      {"7767517\n2 2\nInput x 0 1 x\nInterp r 1 1 x y 0=4\n", Code::unsupported,
       "its resize type is 4"},
      {"7767517\n2 2\nInput x 0 1 x\nPReLU r 1 1 x y 0=99\n", Code::refused,
       "its weights need 396 bytes, the file has 8 more"},
      {"7767517\n2 2\nInput x 0 1 x\nConvolution c 1 1 x y 0=1 1=1 6=1\n", Code::unsupported,
       "weights of kind 5"},
      {"7767517\n2 2\nInput x 0 1 x\nPReLU r 1 1 x y 0=1\n", Code::refused,
       "the weights end at byte 4 of 8"}};
  for (const Row& row : rows) {
    CAPTURE(row.layers);
    const std::string message =
        error_of(row.code, [&] { import_pair(row.layers, std::string("\5\0\0\0\0\0\0\0", 8)); });
    CHECK_THAT(message, Catch::Matchers::Contains(row.why));
  }
}

TEST_CASE("a damaged ncnn network is refused or means something else, and that is all") {
  const std::string layers = read_file(data("layers.param")),
                    weights = read_file(data("layers.bin"));
  const Tensor x = read_npy(MappedFile::open(data("x.npy")));
  size_t refused = 0, runs = 0;
  const auto attempt = [&](const std::string& text, const std::string& numbers) {
    try {
      const Program program = import_pair(text, numbers);
      if (runs++ % 8 == 0) Session(program, {.device = "reference"}).run({x});
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t length = 0; length < layers.size(); length += 7)
    attempt(layers.substr(0, length), weights);
  for (size_t length = 0; length < weights.size(); length += 97)
    attempt(layers, weights.substr(0, length));
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string text = layers, numbers = weights;
    for (int k = 0; k < 1 + i % 3; ++k) {
      std::string& bytes = i % 4 == 0 ? numbers : text;
      bytes[random() % bytes.size()] =
          static_cast<char>(i % 2 == 0 ? random() : '0' + random() % 10);
    }
    attempt(text, numbers);
  }
  CHECK(refused > 500);
  CHECK(runs > 100);
}

}  // namespace hub
