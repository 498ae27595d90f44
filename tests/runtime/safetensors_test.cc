#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

std::string safetensors(std::string_view header, std::string_view data = {}) {
  std::string file;
  for (uint64_t n = header.size(), i = 0; i < 8; ++i) file += static_cast<char>(n >> (8 * i));
  return file + std::string(header) + std::string(data);
}

const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
std::string one(std::string_view fields) { return concat("{\"a\":{", fields, "}}"); }
std::string nested(size_t depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); }

}  // namespace

TEST_CASE("safetensors: a file of several types is read in place") {
  const MappedFile file = mapped(data_file("st_ok_mixed.safetensors"));
  const NamedTensors t = read_safetensors(file);
  REQUIRE(t.size() == 4);
  CHECK(t.at("bf").spec().str() == "bfloat16[2]");
  CHECK(t.at("bf").to_floats() == std::vector<float>{1.5F, -2.0F});
  CHECK(t.at("i").to_ints() == std::vector<int64_t>{-7});
  CHECK(t.at("z").shape() == Shape{0, 3});
  CHECK(t.at("s").shape() == Shape{});
  CHECK(t.at("s").to_floats() == std::vector<float>{2.5F});
}

TEST_CASE("safetensors: tensors outlive the file they view") {
  Tensor t;
  {
    const MappedFile file = mapped(safetensors(one(good) + "  ", std::string("\0\0\x80\x3f", 4)));
    t = read_safetensors(file).at("a");
    CHECK(t.raw() == file.bytes().data() + file.size() - 4);
  }
  CHECK(t.to_floats() == std::vector<float>{1.0F});
}

// What the reference implementation (0.8.0) says of each, but for the last group of the second
// table.
TEST_CASE("safetensors: accepted as the reference does") {
  const std::pair<std::string, std::string> files[] = {
      {"{}", ""},
      {" {}\n\t ", ""},
      {one(good), "1234"},
      {one(good + R"(,"extra":[1,{"y":null}],"more":-1.5e3,"big":123456789012345678901234567890)"),
       "1234"},
      {one(good + ",\"x\":" + nested(125)), "1234"},
      {R"({"__metadata__":{"a":"b"}})", ""},
      {R"({"__metadata__":null})", ""},
      {R"({"__metadata__":{"dtype":"F64","shape":"1","data_offsets":""}})", ""},
      {"{\"a\":{" + good + R"(},"__metadata__":{"dtype":"F64"}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", ""},
      {R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
       "1234"},
      {R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       "1234"},
      {"{\"\":{" + good + "}}", "1234"},
  };
  for (const auto& [header, data] : files) {
    INFO(header);
    CHECK_NOTHROW(read_safetensors(mapped(safetensors(header, data))));
  }
}

TEST_CASE("safetensors: refused as the reference does") {
  const std::pair<std::string, std::string> files[] = {
      {"", ""},
      {"[]", ""},
      {"null", ""},
      {"\xef\xbb\xbf{}", ""},
      {std::string("{}\0", 3), ""},
      {"{\"\xff\":{}}", ""},
      {one(good), "123"},
      {one(good), "12345"},
      {R"({"a":null})", ""},
      {R"({"a":{}})", ""},
      {one(good + ","), "1234"},
      {one(good + R"(,"dtype":"F32")"), "1234"},
      {one(good + ",\"x\":" + nested(126)), "1234"},
      {one(good + R"(,"x":1e999)"), "1234"},
      {one(good + R"(,"x":"\ud800")"), "1234"},
      {R"({"__metadata__":{"a":1}})", ""},
      {R"({"__metadata__":[]})", ""},
      {R"({"__metadata__":{},"__metadata__":{}})", ""},
      {R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}})", ""},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,5]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,0]}})", ""},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})", ""},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "1234"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "1234"},
      // Stricter than the reference.
      {"{\"a\":{" + good + "},\"a\":{" + good + "}}", "1234"},
      {R"({"__metadata__":{"a":"b","a":"b"}})", ""},
      {R"({"a":["F32",[1],[0,4]]})", "1234"},
      {R"({"a":{"dtype":{"F32":null},"shape":[1],"data_offsets":[0,4]}})", "1234"},
  };
  for (const auto& [header, data] : files) {
    INFO(header);
    error_of(Code::refused, [&] { read_safetensors(mapped(safetensors(header, data))); });
  }
}

TEST_CASE("safetensors: types that Tensor does not have are named") {
  const std::string f8 = R"({"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})";
  CHECK_THAT(error_of(Code::unsupported, [&] { read_safetensors(mapped(safetensors(f8, "12"))); }),
             Catch::Contains("'w'") && Catch::Contains("F8_E4M3"));
}

TEST_CASE("safetensors: lengths that lie, cut and damaged files") {
  const std::pair<const char*, const char*> files[] = {
      {"st_len_overflow.safetensors", "header length"},
      {"st_shape_vs_bytes.safetensors", "4000000"}};
  for (const auto& [name, message] : files)
    CHECK_THAT(error_of(Code::refused, [&, n = name] { read_safetensors(mapped(data_file(n))); }),
               Catch::Contains(message));
  check_damage(data_file("st_ok_mixed.safetensors"),
               [](const std::string& bytes) { read_safetensors(mapped(bytes)); });
}
