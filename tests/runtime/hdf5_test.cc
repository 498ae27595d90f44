#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/import/import.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

/// The bytes with `to` over what begins `offset` bytes behind the first `mark`.
std::string written(std::string bytes, std::string_view mark, size_t offset, std::string_view to) {
  const size_t at = bytes.find(mark);
  REQUIRE(at != std::string::npos);
  return bytes.replace(at + offset, to.size(), to);
}

std::string refused(Code code, const std::string& bytes) {
  return error_of(code, [&] { read_hdf5(mapped(bytes)); });
}

}  // namespace

TEST_CASE("HDF5: groups and data sets as Keras saves them") {
  NamedTensors t;
  {
    const MappedFile file = mapped(data_file("weights.h5"));
    t = read_hdf5(file);
  }
  REQUIRE(t.size() == 3);
  CHECK(t.at("dense/vars/0").spec().str() == "float32[2, 3]");
  CHECK(t.at("dense/vars/0").to_floats() == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(t.at("dense/vars/1").spec().str() == "float16[2]");
  CHECK(t.at("dense/vars/1").to_floats() == std::vector<float>{-2, 1024});
  CHECK(t.at("steps").spec().str() == "int64[]");
  CHECK(t.at("steps").to_ints() == std::vector<int64_t>{42});
}

TEST_CASE("HDF5: shuffled and deflated chunks, the last ones cut off by the edge") {
  const NamedTensors t = read_hdf5(mapped(data_file("packed.h5")));
  CHECK(t.at("w").shape() == Shape{5, 7});
  std::vector<float> wanted(35);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<float>(i);
  CHECK(t.at("w").to_floats() == wanted);
}

TEST_CASE("HDF5: what leads in circles, outside, or to other kinds of files is refused") {
  const std::string file = data_file("weights.h5");
  const auto u64 = [](uint64_t n) {
    return std::string(reinterpret_cast<const char*>(&n), sizeof n);
  };
  using Catch::Contains;
  CHECK_THAT(refused(Code::refused, "GIF89a"), Contains("does not begin"));
  CHECK_THAT(refused(Code::unsupported, written(file, "\x89HDF", 8, "\x02")),
             Contains("superblock has version 2"));
  CHECK_THAT(refused(Code::refused, written(file, "\x89HDF", 40, u64(1 << 20))),
             Contains("cut off"));
  // A symbol of the root group that is the root group.
  const std::string root = file.substr(64, 8);
  CHECK_THAT(refused(Code::refused, written(file, "SNOD", 16, root)), Contains("two ways"));
  CHECK_THAT(refused(Code::refused, written(file, "SNOD", 16, u64(file.size() + 8))),
             Contains("behind"));
  CHECK_THAT(refused(Code::unsupported, written(file, "SNOD", 24, u64(2))),
             Contains("symbolic link"));
  CHECK_THAT(refused(Code::refused, written(file, "TREE", 24 + 8, u64(~uint64_t{0}))),
             Contains("behind"));
}

TEST_CASE("HDF5: cut and damaged files") {
  for (const char* name : {"weights.h5", "packed.h5"}) {
    INFO(name);
    check_damage(data_file(name), [](const std::string& bytes) {
      for (const auto& [tensor, values] : read_hdf5(mapped(bytes))) values.to_floats();
    });
  }
}
