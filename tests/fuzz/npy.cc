#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    const Tensor t = read_npy(MappedFile::of(std::string(text_of(data, size))));
    check(read_npy(MappedFile::of(write_npy(t))).spec() == t.spec());
  });
}
