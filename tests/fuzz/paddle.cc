// An input is the program and its parameters, as TwoFiles has it.
#include "runtime/import/paddle.pb.h"
#include "runtime/op.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    exercise(import_paddle(TwoFiles(text_of(data, size)), RelPath::parse("first"), "params"));
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  static const std::vector<std::string> words = hub::importable("paddle");
  std::string params;
  return hub::mutate_input<hub::fluid::Program>(
      data, size, most, seed, words,
      [&](std::string_view bytes, auto& m) {
        const hub::TwoFiles input(bytes);
        params = input.second;
        return m.ParsePartialFromArray(input.first.data(), static_cast<int>(input.first.size()));
      },
      [&](const auto& m) {
        const std::string program = m.SerializePartialAsString();
        return hub::concat(static_cast<char>(program.size()),
                           static_cast<char>(program.size() >> 8), program, params);
      });
}
