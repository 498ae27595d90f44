#include "runtime/import/paddle_params.h"

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    PaddleRecords records(MappedFile::of(std::string(text_of(data, size))));
    NamedTensors tensors;
    for (const Spec& spec : {Spec{DType::f32, {2}}, Spec{DType::i64, {1}},
                             Spec{DType::boolean, {3, 2}}, Spec{DType::f16, {0}}}) {
      tensors.emplace(spec.str(), records.next(spec.str(), spec));
    }
    records.finish();
    exercise(tensors);
  });
}
