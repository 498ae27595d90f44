// An input is the text of the layers and the weights, as TwoFiles has it.
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    exercise(import_ncnn(TwoFiles(text_of(data, size)), RelPath::parse("first"),
                         RelPath::parse("weights")));
  });
}
