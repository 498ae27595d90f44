// HDF5 files (File Format Specification 3.0) as Keras and h5py write weights: superblock 0, groups
// as B-trees of symbol tables, object headers of version 1, data sets of numbers. Every structure
// is followed once at most, so that no file leads in circles or far beyond its size.
#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "runtime/import/hdf5_chunks.h"
#include "runtime/import/import.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

using hdf5::Bytes;
using hdf5::nowhere;
using hdf5::number;

constexpr size_t deepest = 32;

enum MessageType : uint16_t {
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  filters = 0x0b,
  continuation = 0x10,
  symbol_table = 0x11,
};

/// The messages of an object header that are looked at, each there once at most.
using Messages = std::map<uint16_t, Bytes>;

const Bytes* find(const Messages& messages, uint16_t type) {
  const auto it = messages.find(type);
  return it == messages.end() ? nullptr : &it->second;
}

const Bytes& need(const Messages& messages, uint16_t type, std::string_view what) {
  const Bytes* found = find(messages, type);
  if (found == nullptr) fail(Code::refused, "its ", what, " is missing");
  return *found;
}

Shape shape_of(Bytes space) {
  const auto version = number<uint8_t>(space, 0);
  const size_t rank = number<uint8_t>(space, 1);
  if (version != 1 && version != 2)
    fail(Code::unsupported, "its data space has version ", int{version});
  if (version == 2 && number<uint8_t>(space, 3) == 2)
    fail(Code::unsupported, "it is empty, without dimensions");
  if (rank > Shape::max_rank)
    fail(Code::unsupported, "it has ", rank, " dimensions, at most ", Shape::max_rank);
  Shape shape;
  for (size_t d = 0; d < rank; ++d) {
    const auto size = number<uint64_t>(space, (version == 1 ? 8 : 4) + 8 * d);
    if (size > uint64_t{1} << 40) fail(Code::refused, "it has a dimension of ", size);
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

struct FloatKind {
  uint32_t size;
  uint8_t exponent_at, exponent, mantissa;
  uint32_t bias;
  DType dtype;
};
constexpr FloatKind float_kinds[] = {{2, 10, 5, 10, 15, DType::f16},
                                     {2, 7, 8, 7, 127, DType::bf16},
                                     {4, 23, 8, 23, 127, DType::f32},
                                     {8, 52, 11, 52, 1023, DType::f64}};

DType dtype_in(Bytes type) {
  const int kind = number<uint8_t>(type, 0) & 15;
  const auto size = number<uint32_t>(type, 4);
  if (kind > 1) fail(Code::unsupported, "its type is of class ", kind, "; numbers are wanted");
  const auto how = number<uint8_t>(type, 1);
  if ((how & 0x41) != 0) fail(Code::unsupported, "its numbers are big-endian");
  if (number<uint16_t>(type, 8) != 0 || number<uint16_t>(type, 10) != 8 * uint64_t{size})
    fail(Code::unsupported, "its numbers do not fill their bytes");
  if (kind == 0) {
    const bool has_sign = (how & 8) != 0;
    switch (size) {
      case 1: return has_sign ? DType::i8 : DType::u8;
      case 2: return has_sign ? DType::i16 : DType::u16;
      case 4: return has_sign ? DType::i32 : DType::u32;
      case 8: return has_sign ? DType::i64 : DType::u64;
      default: break;
    }
  } else {
    for (const FloatKind& k : float_kinds) {
      if (k.size == size && number<uint8_t>(type, 12) == k.exponent_at &&
          number<uint8_t>(type, 13) == k.exponent && number<uint8_t>(type, 14) == 0 &&
          number<uint8_t>(type, 15) == k.mantissa && number<uint32_t>(type, 16) == k.bias)
        return k.dtype;
    }
  }
  fail(Code::unsupported, "its numbers of ", size, " bytes are of no kind that is known");
}

class Reader {
 public:
  explicit Reader(const MappedFile& file) : file_(file), source_(file.bytes()) {}

  NamedTensors read() {
    const Bytes bytes = file_.bytes();
    if (!file_.text().starts_with("\x89HDF\r\n\x1a\n"))
      fail(Code::refused, "it does not begin as such files do");
    const auto version = number<uint8_t>(bytes, 8);
    if (version > 1)
      fail(Code::unsupported, "its superblock has version ", int{version},
           "; save it with the earliest format");
    if (number<uint8_t>(bytes, 13) != 8 || number<uint8_t>(bytes, 14) != 8)
      fail(Code::unsupported, "its offsets and lengths do not take 8 bytes each");
    const size_t at = version == 0 ? 24 : 28;
    if (number<uint64_t>(bytes, at) != 0) fail(Code::unsupported, "it begins with something else");
    const auto end = number<uint64_t>(bytes, at + 16);
    if (end > bytes.size())
      fail(Code::refused, "it is cut off: it has ", bytes.size(), " of ", end, " bytes");
    object(number<uint64_t>(bytes, at + 40), {}, 0);
    if (tensors_.empty()) fail(Code::refused, "it holds no data sets");
    return std::move(tensors_);
  }

 private:
  Messages header(uint64_t at) {
    const auto version = source_.at<uint8_t>(at);
    if (version != 1)
      fail(Code::unsupported, "its header has version ", version == 'O' ? 2 : int{version},
           "; save it with the earliest format");
    size_t left = source_.at<uint16_t>(at + 2);
    std::vector<Bytes> blocks = {source_.part(at + 16, source_.at<uint32_t>(at + 8))};
    Messages messages;
    for (size_t b = 0; b < blocks.size(); ++b) {
      Bytes block = blocks[b];
      for (; left > 0 && block.size() >= 8; --left) {
        const auto type = number<uint16_t>(block, 0), size = number<uint16_t>(block, 2);
        const bool shared = (number<uint8_t>(block, 4) & 2) != 0;
        if (size > block.size() - 8) fail(Code::refused, "a message of its header is cut off");
        const Bytes data = block.subspan(8, size);
        block = block.subspan(8 + size);
        if (type == continuation) {
          const auto next = number<uint64_t>(data, 0);
          source_.once(next);
          blocks.push_back(source_.part(next, number<uint64_t>(data, 8)));
          continue;
        }
        if (type == 0 || (type > filters && type != symbol_table)) continue;  // nothing of numbers
        if (shared && (type == dataspace || type == datatype))
          fail(Code::unsupported, "it shares its type or space with another object");
        if (!messages.emplace(type, data).second)
          fail(Code::refused, "its header says the same twice (message ", type, ")");
      }
    }
    return messages;
  }

  void object(uint64_t at, const std::string& name, size_t depth) {
    if (depth > deepest) fail(Code::unsupported, "its groups are nested too deeply");
    const auto read = [&] {
      source_.once(at);
      const Messages messages = header(at);
      if (find(messages, link) != nullptr || find(messages, link_info) != nullptr)
        fail(Code::unsupported,
             "it is a group of the newer kind; save it with the earliest format");
      if (const Bytes* table = find(messages, symbol_table)) {
        group(*table, name, depth);
      } else if (find(messages, layout) != nullptr) {
        tensors_.emplace(name, data_set(messages));
      } else {
        fail(Code::unsupported, "it is neither a group nor a data set");
      }
    };
    if (depth == 0) return read();
    try {
      read();
    } catch (const Error& e) {
      if (named_) throw;
      named_ = true;
      throw Error(e.code(), concat("'", printable(name), "': ", e.what()));
    }
  }

  void group(Bytes table, const std::string& name, size_t depth) {
    const auto heap = number<uint64_t>(table, 8);
    source_.want(heap, "HEAP");
    const Bytes names =
        source_.part(source_.at<uint64_t>(heap + 24), source_.at<uint64_t>(heap + 8));
    std::vector<uint64_t> nodes;
    source_.leaves(number<uint64_t>(table, 0), 0, 8,
                   [&](Bytes, uint64_t node) { nodes.push_back(node); });
    for (const uint64_t node : nodes) {
      source_.once(node);
      source_.want(node, "SNOD");
      const size_t count = source_.at<uint16_t>(node + 6);
      for (size_t i = 0; i < count; ++i) {
        const Bytes entry = source_.part(node + 8 + 40 * i, 40);
        const std::string full = joined(name, text_at(names, number<uint64_t>(entry, 0)));
        if (number<uint32_t>(entry, 16) == 2)
          fail(Code::unsupported, "'", printable(full), "' is a symbolic link");
        if (tensors_.contains(full)) fail(Code::refused, "'", printable(full), "' is there twice");
        object(number<uint64_t>(entry, 8), full, depth + 1);
      }
    }
  }

  static std::string_view text_at(Bytes names, uint64_t at) {
    if (at >= names.size()) fail(Code::refused, "a name lies outside of its heap");
    const std::string_view rest(reinterpret_cast<const char*>(names.data()) + at,
                                names.size() - at);
    const std::string_view text = rest.substr(0, rest.find('\0'));
    if (text.empty() || text.size() == rest.size() || text.size() > 1024 ||
        text.find('/') != std::string_view::npos || !valid_utf8(text))
      fail(Code::refused, "a name is empty, too long or no text");
    return text;
  }

  static std::string joined(const std::string& group, std::string_view name) {
    return group.empty() ? std::string(name) : concat(group, "/", name);
  }

  Tensor data_set(const Messages& messages) {
    if (find(messages, external_files) != nullptr)
      fail(Code::refused, "its numbers are said to lie in other files");
    const Spec spec{dtype_in(need(messages, datatype, "type")),
                    shape_of(need(messages, dataspace, "data space"))};
    const Bytes lies = need(messages, layout, "layout");
    if (number<uint8_t>(lies, 0) != 3)
      fail(Code::unsupported, "its layout has version ", int{number<uint8_t>(lies, 0)});
    if (spec.shape.numel() == 0) return {spec.dtype, spec.shape};
    const Bytes* packing = find(messages, filters);
    switch (number<uint8_t>(lies, 1)) {
      case 0: {
        const size_t size = number<uint16_t>(lies, 2);
        if (size > lies.size() - 4) fail(Code::refused, "its numbers are cut off");
        return tensor_from_bytes(spec, lies.subspan(4, size), file_.owner());
      }
      case 1: {
        const auto at = number<uint64_t>(lies, 2);
        if (at == nowhere) fail(Code::refused, "its numbers were never written");
        return tensor_from_bytes(spec, source_.take(at, number<uint64_t>(lies, 10)), file_.owner());
      }
      case 2:
        return hdf5::read_chunks(source_, lies, packing != nullptr ? *packing : Bytes{}, spec);
      default: fail(Code::unsupported, "its layout is of class ", int{number<uint8_t>(lies, 1)});
    }
  }

  const MappedFile& file_;
  hdf5::Source source_;
  bool named_ = false;  ///< the error on its way says which object it is about
  NamedTensors tensors_;
};

}  // namespace

NamedTensors read_hdf5(const MappedFile& file) {
  return within("HDF5 file", [&] { return Reader(file).read(); });
}

}  // namespace hub
