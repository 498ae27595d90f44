#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt(
      [&] { exercise(import_tflite(MappedFile::of(std::string(text_of(data, size))))); });
}
