#include "runtime/op.h"
#include "runtime/program.pb.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hub;
  return attempt([&] {
    const MappedFile file = MappedFile::of(std::string(text_of(data, size)));
    exercise(program_from_bytes(file.text(), file.owner()));
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> names;
    for (const hub::OpDef* op : hub::all_ops()) names.emplace_back(op->name);
    return names;
  }();
  return hub::mutate_input<hub::pb::Program>(
      data, size, most, seed, words,
      [](std::string_view bytes, auto& m) {
        return m.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
      },
      [&](auto& m) {
        // The three places at its beginning, mostly as they must be.
        std::string data;
        m.mutable_data()->swap(data);
        m.clear_data();
        m.clear_padding();
        if (seed % 3 != 0) {
          for (int i = 0; i < 2; ++i) {  // the first time gives the fields their places
            const size_t head = m.ByteSizeLong();
            m.set_head(head);
            m.set_data_start(head + 5);
            m.set_size(head + 5 + data.size());
          }
        }
        const auto byte = [&](int shift) {
          return static_cast<char>((data.size() >> shift & 0x7f) | 0x80);
        };
        return hub::concat(m.SerializePartialAsString(), static_cast<char>(15 << 3 | 2), byte(0),
                           byte(7), byte(14), static_cast<char>(data.size() >> 21), data);
      });
}
