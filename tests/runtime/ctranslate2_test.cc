// CTranslate2's model.bin: what it holds, and what is refused.
#include "runtime/import/ctranslate2.h"

#include <catch2/catch.hpp>

#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

template <class T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string text(std::string_view chars) {
  return raw(static_cast<uint16_t>(chars.size() + 1)) + std::string(chars) + '\0';
}

std::string variable(std::string_view name, const std::vector<uint32_t>& shape, uint8_t type,
                     const std::string& numbers) {
  std::string out = text(name) + raw(static_cast<uint8_t>(shape.size()));
  for (const uint32_t d : shape) out += raw(d);
  return out + raw(type) + raw(static_cast<uint32_t>(numbers.size())) + numbers;
}

/// A file with these variables and aliases, each already as bytes.
std::string model(const std::vector<std::string>& variables,
                  const std::vector<std::string>& aliases = {}, uint32_t version = 6) {
  std::string out = raw(version) + text("WhisperSpec") + raw(uint32_t{3});
  for (const auto* list : {&variables, &aliases}) {
    out += raw(static_cast<uint32_t>(list->size()));
    for (const std::string& item : *list) out += item;
  }
  return out;
}

const std::string floats = raw(1.5F) + raw(-2.0F);
const std::string pair = variable("a/weight", {2}, 0, floats);

std::string good() {
  return model({pair, variable("a/heads", {}, 2, raw(int16_t{6})),
                variable("b", {1, 2}, 4, raw(uint16_t{0x3c00}) + raw(uint16_t{0xc000}))},
               {text("c") + text("b")});
}

}  // namespace

TEST_CASE("ctranslate2: tensors of several types, and one under two names") {
  NamedTensors t;
  {
    const MappedFile file = mapped(good());
    t = read_ctranslate2(file);
  }
  REQUIRE(t.size() == 4);
  CHECK(t.at("a/weight").spec() == Spec{DType::f32, {2}});
  CHECK(t.at("a/weight").to_floats() == std::vector<float>{1.5F, -2});
  CHECK(t.at("a/heads").spec() == Spec{DType::i16, {}});
  CHECK(t.at("a/heads").to_ints() == std::vector<int64_t>{6});
  for (const char* name : {"b", "c"}) {
    CHECK(t.at(name).spec() == Spec{DType::f16, {1, 2}});
    CHECK(t.at(name).to_floats() == std::vector<float>{1, -2});
  }
}

TEST_CASE("ctranslate2: files that are not right are refused") {
  const auto refused = [](Code code, const std::string& bytes, const char* why) {
    INFO(why);
    CHECK_THAT(error_of(code, [&] { read_ctranslate2(mapped(bytes)); }), Catch::Contains(why));
  };
  refused(Code::unsupported, model({pair}, {}, 5), "binary version, is 5");
  refused(Code::unsupported, model({variable("a", {}, 6, "x")}), "type 6");
  refused(Code::refused, model({pair, pair}), "twice");
  refused(Code::refused, model({pair}, {text("a/weight") + text("a/weight")}), "twice");
  refused(Code::refused, model({pair}, {text("b") + text("c")}), "'c', which is not there");
  refused(Code::refused, model({variable("a", {3}, 0, floats)}), "tensor 'a'");
  refused(Code::refused, model({variable("a", {0xffffffff, 0xffffffff, 0xffffffff}, 0, floats)}),
          "tensor 'a'");
  refused(Code::refused, model({pair}) + "x", "1 bytes follow");
  refused(Code::refused, "", "it is cut");
  // A number of variables for which a memory is not enough.
  std::string many = model({});
  many.replace(many.size() - 8, 4, "\xff\xff\xff\xff");
  refused(Code::refused, many, "4294967295 variables");
  // A name with a zero inside, and one without the zero behind it.
  refused(Code::refused, model({variable(std::string("a\0b", 3), {2}, 0, floats)}), "one zero");
  std::string open = good();
  open[4 + 2 + 11] = 'x';
  refused(Code::refused, open, "one zero");
}

TEST_CASE("ctranslate2: cut and damaged files") {
  check_damage(good(), [](const std::string& bytes) { read_ctranslate2(mapped(bytes)); });
}
