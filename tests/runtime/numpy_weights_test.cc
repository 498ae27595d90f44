// Weights as NumPy keeps them: an .npz archive, a pickled dictionary of arrays. And pickled
// dictionaries of plain data.
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

TEST_CASE("pickled tables: texts to numbers and lists of texts, nothing else") {
  const auto text = [](std::string_view t) {
    return concat(std::string("X") + static_cast<char>(t.size()) + std::string(3, '\0'), t);
  };
  const std::string good = concat("\x80\2}(", text("a"), "K\7", text("b"), "](", text("x"),
                                  text("y"), "e", text("a"), "K\x08u.");
  const auto table = read_pickled_table(mapped(good));
  REQUIRE(table.size() == 2);
  CHECK(std::get<int64_t>(table.at("a")) == 8);
  CHECK(std::get<std::vector<std::string>>(table.at("b")) == std::vector<std::string>{"x", "y"});
  check_damage(good, [](const std::string& b) { read_pickled_table(mapped(b)); });

  // One text that a list names a thousand times.
  std::string many = concat("\x80\2}(", text(std::string(100, 'k')), "q\1](");
  for (int i = 0; i < 1000; ++i) many += "h\1";
  const std::pair<std::string, const char*> bad[] = {
      {good + "x", "goes on"},
      {"\x80\2].", "a dictionary is wanted"},
      {concat("\x80\2}(", text("a"), "Nu."), "a whole number or a list is wanted"},
      {concat("\x80\2}(K\1K\1u."), "a text is wanted"},
      {concat("\x80\2}(", text("\xff"), "K\1u."), "not UTF-8"},
      {many + "eu.", "far longer than its file"}};
  for (const auto& [bytes, message] : bad) {
    INFO(message);
    CHECK_THAT(error_of(Code::refused, [&, &b = bytes] { read_pickled_table(mapped(b)); }),
               Catch::Contains(message));
  }
}
