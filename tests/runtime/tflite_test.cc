// TensorFlow Lite: tests/data/tflite/make.py made the file, LiteRT the answers.
#include <catch2/catch.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "runtime/import/import.h"
#include "runtime/runtime.h"
#include "tests/runtime/answers.h"

namespace hub {
namespace {

std::string data(const std::string& name) {
  return std::string(HUB_SOURCE_DIR "/tests/data/tflite/") + name;
}

}  // namespace

TEST_CASE("operators of TensorFlow Lite give LiteRT's numbers") {
  const Program program = import_file(data("operators.tflite"));
  const Tensor x = read_npy(MappedFile::open(data("x.npy")));
  const Tensor answers = read_npy(MappedFile::open(data("answers.npy")));
  REQUIRE(program.outputs.size() == 29);
  check_answers(program, x, answers);
}

TEST_CASE("a damaged TensorFlow Lite file is refused or means something else, and that is all") {
  const std::string whole = read_file(data("operators.tflite"));
  const Tensor x = read_npy(MappedFile::open(data("x.npy")));
  size_t refused = 0, runs = 0;
  const auto attempt = [&](std::string bytes) {
    try {
      const Program program = import_tflite(MappedFile::of(std::move(bytes)));
      if (runs++ % 8 == 0) Session(program, {.device = "reference"}).run({x});
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t length = 0; length < whole.size(); length += 37) attempt(whole.substr(0, length));
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 1 + i % 3; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(i % 2 == 0 ? random() : random() % 4);
    attempt(std::move(bytes));
  }
  CHECK(refused > 500);
  CHECK(runs > 500);
}

TEST_CASE("a sparse tensor that would fill the memory is refused before it is made") {
  std::string bytes = read_file(data("operators.tflite"));
  const int32_t shape[] = {4, 3, 1, 1, 4};  // rank and sizes of the two sparse tensors
  const std::string_view known(reinterpret_cast<const char*>(shape), sizeof shape);
  const int32_t large = 1 << 26;
  size_t found = 0;
  for (size_t at = 0; (at = bytes.find(known, at)) != std::string::npos; ++found)
    bytes.replace(at + 4, sizeof large, reinterpret_cast<const char*>(&large), sizeof large);
  REQUIRE(found >= 2);
  CHECK_THROWS_WITH(import_tflite(MappedFile::of(std::move(bytes))),
                    Catch::Matchers::Contains("256 times the file's size"));
}

TEST_CASE("names of TensorFlow Lite are text") {
  std::string bytes = read_file(data("operators.tflite"));
  const Program program = import_file(data("operators.tflite"));
  const std::string name = program[program.inputs[0]].name;
  const std::string before = {static_cast<char>(name.size()), 0, 0, 0};  // its length
  const size_t at = bytes.find(before + name + '\0');
  REQUIRE(at != std::string::npos);
  bytes[at + before.size()] = '\xff';
  CHECK_THROWS_WITH(import_tflite(MappedFile::of(std::move(bytes))),
                    Catch::Matchers::Contains("is not valid UTF-8"));
}

}  // namespace hub
