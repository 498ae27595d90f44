#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] { exercise(read_hdf5(MappedFile::of(std::string(text_of(data, size))))); });
}
