#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

/// A legacy checkpoint whose object is this pickle, without storages.
std::string legacy(std::string_view object) {
  const std::string magic("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  return concat(magic, std::string_view("\x80\2M\xe9\3.", 6), "\x80\2}.", object, "\x80\2].");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("checkpoints: both containers give the same tensors") {
  for (const char* name : {"tiny.pt", "tiny.pth"}) {
    INFO(name);
    NamedTensors t;
    {
      const MappedFile file = mapped(data_file(name));
      t = read_checkpoint(file);
    }
    REQUIRE(t.size() == 5);
    CHECK(t.at("weight").spec().str() == "float32[2, 3]");
    CHECK(t.at("weight").to_floats() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(t.at("transposed").shape() == Shape{3, 2});
    CHECK(t.at("transposed").to_floats() == std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(t.at("half").spec().str() == "float16[2]");
    CHECK(t.at("half").to_floats() == std::vector<float>{-2, 1024});
    CHECK(t.at("steps").shape() == Shape{});
    CHECK(t.at("steps").to_ints() == std::vector<int64_t>{42});
    CHECK(t.at("flags").spec().str() == "bool[1, 2]");
    CHECK(t.at("flags").to_ints() == std::vector<int64_t>{0, 1});
  }
}

TEST_CASE("checkpoints: whatever a state_dict does not need is refused by name") {
  const std::pair<std::string, std::string> objects[] = {
      {"cos\nsystem\n(U\4true\x85R.", "os.system"},
      {"cposix\nsystem\n.", "posix.system"},
      {"c__builtin__\neval\n.", "__builtin__.eval"},
      {"ctorch.storage\n_load_from_bytes\n.", "torch.storage._load_from_bytes"},
      {"ctorch._utils\n_rebuild_tensor_v2.x\n.", "_rebuild_tensor_v2.x"},
      {"(ios\nsystem\n.", "opcode 105"},
      {"(U\2osU\6systemo.", "opcode 111"},
      {"\x80\2\x8c\2os\x8c\6system\x93.", "opcode 140"},
      {"I1\n.", "opcode 73"},
      {"P0\n.", "opcode 80"},
      {"\x80\4}.", "protocol 4"},
      {"}}b}R.", "to call"},
      {"ctorch\nFloatStorage\n)R.", "it comes as a reference only"},
      {"ccollections\nOrderedDict\n(K\1\x85tR.", "tuple or list"},
      {"a.", "the stack is empty"},
      {"(a.", "the stack is empty"},
      {"}u.", "no mark"},
      {"h\7.", "nothing is remembered under 7"},
      {"U\x09x.", "cut off"},
      {"](K\1K\2u.", "a dictionary is wanted"},
      {")K\1a.", "a list is wanted"},
      {"}(K\1u.", "a key without a value"},
      {"(U\7storagectorch\nSize\nU\1kU\3cpuK\1tQ.", "no storage type"},
      {"(U\6modulectorch\nFloatStorage\nU\1kU\3cpuK\1tQ.", "no storage"},
  };
  for (const auto& [object, message] : objects) {
    INFO(object);
    CHECK_THAT(error_of(Code::refused, [&, o = object] { read_checkpoint(mapped(legacy(o))); }),
               Catch::Contains(message));
  }
}

TEST_CASE("checkpoints: objects that hold no tensors are refused") {
  for (const std::string object : {"N.", "].", "}.", "}U\1aK\1s.", "}U\nstate_dict}s."}) {
    INFO(object);
    error_of(Code::refused, [&] { read_checkpoint(mapped(legacy(object))); });
  }
}

TEST_CASE("checkpoints: values that would outgrow the file are refused") {
  // One list of four million entries, made of 256-fold copies of references.
  std::string object = "](";
  for (int i = 0; i < 1 << 22; ++i) object += 'N';
  CHECK_THAT(error_of(Code::refused, [&] { read_checkpoint(mapped(legacy(object + "e."))); }),
             Catch::Contains("more values"));
}

TEST_CASE("checkpoints: tensors stay inside their storages") {
  // In tiny.pth, "transposed" has the offset 0, the size (3, 2) and the strides (1, 3).
  const std::string file = data_file("tiny.pth");
  const std::pair<std::string, std::string> changes[] = {
      {"K\3K\2\x86", "K\3K\3\x86"},  // size (3, 3)
      {"K\1K\3\x86", "K\1K\4\x86"},  // strides (1, 4)
  };
  for (const auto& [from, to] : changes)
    error_of(from[3] == '\2' ? Code::unsupported : Code::refused,
             [&, f = from, t = to] { read_checkpoint(mapped(replaced(file, f, t))); });
  CHECK_THAT(error_of(Code::refused, [&] { read_checkpoint(mapped(file + "x")); }),
             Catch::Contains("goes on"));
  CHECK_THAT(error_of(Code::unsupported,
                      [&] {
                        read_checkpoint(
                            mapped(replaced(file, "little_endianq\2\x88", "little_endianq\2\x89")));
                      }),
             Catch::Contains("big-endian"));
}

TEST_CASE("checkpoints: zip archives that are something else") {
  const std::string file = data_file("tiny.pt");
  CHECK_THAT(error_of(Code::refused, [&] { read_checkpoint(mapped("PK\3\4")); }),
             Catch::Contains("too short"));
  CHECK_THAT(error_of(Code::refused, [&] { read_checkpoint(mapped("GIF89a")); }),
             Catch::Contains("neither"));
  CHECK_THAT(error_of(Code::unsupported,
                      [&] { read_checkpoint(mapped(replaced(file, "little", "middle"))); }),
             Catch::Contains("big-endian"));
  // The directory's record of the first member: stored (0) becomes deflated (8).
  std::string packed = file;
  packed[packed.find("PK\1\2") + 10] = 8;
  CHECK_THAT(error_of(Code::unsupported, [&] { read_checkpoint(mapped(packed)); }),
             Catch::Contains("packed") && Catch::Contains("data.pkl"));
}

TEST_CASE("checkpoints: cut and damaged files") {
  for (const char* name : {"tiny.pt", "tiny.pth"})
    check_damage(data_file(name), [](const std::string& bytes) { read_checkpoint(mapped(bytes)); });
}
