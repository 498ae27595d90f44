#include "runtime/import/wire.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace hub {
namespace {

constexpr int deepest = 100;  // as the parser has it
constexpr size_t message_weight = 350, string_weight = 50;

class Scale {
 public:
  Scale(std::span<const WireMessage> schema, size_t most) : schema_(schema), most_(most) {}

  void weigh(std::string_view bytes, char kind, int depth) {
    uint64_t tag = 0, n = 0;
    while (varint(bytes, tag)) {
      switch (tag & 7) {
        case 0:
          if (!varint(bytes, n)) return;
          break;
        case 1: n = 8; break;
        case 5: n = 4; break;
        case 2: {
          if (!varint(bytes, n) || n > bytes.size()) return;
          const char inner = kind_of(kind, tag >> 3);
          add(inner != 0 ? message_weight : string_weight);
          if (inner != 0 && depth < deepest) weigh(bytes.substr(0, n), inner, depth + 1);
          break;
        }
        default: return;  // groups: no file has them
      }
      if ((tag & 7) == 0) continue;
      if (n > bytes.size()) return;
      bytes.remove_prefix(n);
    }
  }

 private:
  static bool varint(std::string_view& bytes, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  char kind_of(char in, uint64_t number) const {
    for (const WireMessage& m : schema_)
      if (m.in == in && static_cast<uint64_t>(m.number) == number) return m.kind;
    return 0;
  }

  void add(size_t weight) {
    weight_ += weight;
    if (weight_ > most_)
      fail(Code::refused, "its messages would take more than ", most_,
           " bytes of memory: no network has so many");
  }

  std::span<const WireMessage> schema_;
  size_t most_, weight_ = 0;
};

}  // namespace

void check_weight(std::string_view bytes, std::span<const WireMessage> schema, char root) {
  constexpr size_t always = size_t{64} << 20, most = size_t{1} << 30;
  Scale(schema, std::min(always + 16 * bytes.size(), most)).weigh(bytes, root, 0);
}

}  // namespace hub
