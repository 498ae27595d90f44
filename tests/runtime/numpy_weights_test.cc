// Weights as NumPy keeps them: an .npz archive, a pickled dictionary of arrays.
#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("NumPy: archives and pickles give the same tensors") {
  for (const char* name : {"arrays.npz", "arrays.pkl"}) {
    INFO(name);
    NamedTensors t;
    {
      const MappedFile file = mapped(data_file(name));
      t = read_checkpoint(file);
    }
    REQUIRE(t.size() == 2);
    CHECK(t.at("weight").spec().str() == "float32[2, 3]");
    CHECK(t.at("weight").to_floats() == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(t.at("steps").spec().str() == "int64[2]");
    CHECK(t.at("steps").to_ints() == std::vector<int64_t>{1, -2});
  }
}

TEST_CASE("NumPy: other kinds of arrays are refused") {
  const std::string good = data_file("arrays.pkl");
  const std::pair<std::string, const char*> bad[] = {
      {replaced(good, "numpy\nndarray", "numpy\nmatrixx"), "numpy.matrixx"},
      {replaced(good, std::string("f4", 2), "O8"), "type 'O8'"},
      {replaced(good, "<", ">"), "not little-endian"},
      {replaced(good,
                "\x89"
                "C\x18",
                "\x88"
                "C\x18"),
       "Fortran order"},
      {replaced(good,
                "\x89"
                "C\x18",
                "\x89"
                "C\x17"),
       "opcode"},
      {good + "x", "goes on behind its pickle"},
      {replaced(good, "\x80\3", "\x80\4"), "protocol 4"}};
  for (const auto& [bytes, message] : bad) {
    INFO(message);
    CHECK_THAT(error_of(Code::refused, [&, &b = bytes] { read_checkpoint(mapped(b)); }),
               Catch::Contains(message));
  }
}

TEST_CASE("NumPy: damaged files are refused or read") {
  for (const char* name : {"arrays.npz", "arrays.pkl"})
    check_damage(data_file(name), [](const std::string& b) { read_checkpoint(mapped(b)); });
}
