#include "runtime/import/onnx.pb.h"
#include "runtime/op.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt(
      [&] { exercise(import_onnx(OneFile(text_of(data, size)), RelPath::parse("model.onnx"))); });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  static const std::vector<std::string> words = hub::importable("onnx");
  return hub::mutate_input<hub::onnx::Model>(
      data, size, most, seed, words,
      [](std::string_view bytes, auto& m) {
        return m.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
      },
      [](const auto& m) { return m.SerializePartialAsString(); });
}
