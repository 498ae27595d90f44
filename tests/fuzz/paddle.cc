// An input is the length of the program (two bytes, little-endian), the program and its parameters.
#include "runtime/import/paddle.pb.h"
#include "runtime/op.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

namespace {

struct Input final : hub::Files {
  explicit Input(std::string_view input) {
    uint16_t length = 0;
    std::memcpy(&length, input.data(), std::min(input.size(), sizeof length));
    input.remove_prefix(std::min(input.size(), sizeof length));
    program = input.substr(0, length);
    params = input.substr(program.size());
  }
  hub::MappedFile open(const hub::RelPath& path) const override {
    return hub::MappedFile::of(std::string(path.str() == "program" ? program : params));
  }
  bool has(const hub::RelPath&) const override { return true; }
  std::string_view program, params;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    exercise(import_paddle(Input(text_of(data, size)), RelPath::parse("program"), "params"));
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  static const std::vector<std::string> words = hub::importable("paddle");
  std::string params;
  return hub::mutate_input<hub::fluid::Program>(
      data, size, most, seed, words,
      [&](std::string_view bytes, auto& m) {
        const Input input(bytes);
        params = input.params;
        return m.ParsePartialFromArray(input.program.data(),
                                       static_cast<int>(input.program.size()));
      },
      [&](const auto& m) {
        const std::string program = m.SerializePartialAsString();
        return hub::concat(static_cast<char>(program.size()),
                           static_cast<char>(program.size() >> 8), program, params);
      });
}
