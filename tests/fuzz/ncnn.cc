// An input is the length of the layers' text (two bytes, little-endian), the text and the weights.
#include <cstring>

#include "tests/fuzz/target.h"

namespace {

struct Input final : hub::Files {
  explicit Input(std::string_view input) {
    uint16_t length = 0;
    std::memcpy(&length, input.data(), std::min(input.size(), sizeof length));
    input.remove_prefix(std::min(input.size(), sizeof length));
    layers = input.substr(0, length);
    weights = input.substr(layers.size());
  }
  hub::MappedFile open(const hub::RelPath& path) const override {
    return hub::MappedFile::of(std::string(path.str() == "layers" ? layers : weights));
  }
  bool has(const hub::RelPath&) const override { return true; }
  std::string_view layers, weights;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    exercise(import_ncnn(Input(text_of(data, size)), RelPath::parse("layers"),
                         RelPath::parse("weights")));
  });
}
