// NumPy .npy files: a magic, a version, a Python dictionary as text, the numbers.
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "runtime/import/import.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};

struct Descr {
  DType dtype;
  std::string_view text;
};
constexpr Descr descrs[] = {{DType::f32, "<f4"}, {DType::f64, "<f8"}, {DType::f16, "<f2"},
                            {DType::i8, "|i1"},  {DType::i16, "<i2"}, {DType::i32, "<i4"},
                            {DType::i64, "<i8"}, {DType::u8, "|u1"},  {DType::u16, "<u2"},
                            {DType::u32, "<u4"}, {DType::u64, "<u8"}, {DType::boolean, "|b1"}};

struct Header {
  Spec spec;
  bool fortran = false;
};

/// The dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, its keys in any
/// order.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header read() {
    Header header;
    int descr = 0, order = 0, shape = 0;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        header.spec.dtype = dtype(quoted());
        ++descr;
      } else if (key == "fortran_order") {
        header.fortran = truth();
        ++order;
      } else if (key == "shape") {
        header.spec.shape = tuple();
        ++shape;
      } else {
        malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    blanks();
    if (at_ != text_.size() || descr != 1 || order != 1 || shape != 1) malformed();
    return header;
  }

 private:
  [[noreturn]] static void malformed() {
    fail(Code::refused, "its header is not {'descr': …, 'fortran_order': …, 'shape': …}");
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }
  std::string_view quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) malformed();
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }
  bool truth() {
    blanks();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    malformed();
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      blanks();
      int64_t n = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
      if (error != std::errc() || n < 0) malformed();
      at_ = static_cast<size_t>(end - text_.data());
      shape.push_back(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  static DType dtype(std::string_view text) {
    for (const Descr& d : descrs)
      if (d.text == text) return d.dtype;
    fail(Code::unsupported, "elements of type '", text,
         "' (little-endian numbers and bool can be read)");
  }

  std::string_view text_;
  size_t at_ = 0;
};

Tensor from_fortran(const Tensor& from) {
  std::vector<int64_t> dims = from.shape().vec();
  Tensor to(from.dtype(), from.shape());
  const size_t size = size_of(from.dtype());
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  std::vector<int64_t> index(dims.size());
  for (int64_t n = from.numel(), i = 0; i < n; ++i) {
    int64_t place = 0;
    for (size_t d = dims.size(); d-- > 0;) place = place * dims[d] + index[d];
    std::memcpy(target + static_cast<size_t>(i) * size, source + static_cast<size_t>(place) * size,
                size);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
  return to;
}

}  // namespace

Tensor read_npy(const MappedFile& file) { return read_npy(file.bytes(), file.owner()); }

Tensor read_npy(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
  return within("npy file", [&] {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.size() < 10 || !text.starts_with(magic))
      fail(Code::refused, "it does not begin as one");
    const int version = text[6];
    if (version < 1 || version > 3)
      fail(Code::unsupported, "version ", version, "; 1 to 3 can be read");
    size_t length = static_cast<uint8_t>(text[8]) | size_t{static_cast<uint8_t>(text[9])} << 8;
    size_t at = 10;
    if (version > 1) {
      if (text.size() < 12) fail(Code::refused, "it ends in its header");
      length |= size_t{static_cast<uint8_t>(text[10])} << 16 |
                size_t{static_cast<uint8_t>(text[11])} << 24;
      at = 12;
    }
    if (length > text.size() - at)
      fail(Code::refused, "its header of ", length, " bytes is longer than the file");
    const Header header = HeaderReader(text.substr(at, length)).read();
    const Tensor t = tensor_from_bytes(header.spec, bytes.subspan(at + length), owner);
    return header.fortran && t.shape().rank() > 1 ? from_fortran(t) : t;
  });
}

std::string write_npy(const Tensor& tensor) {
  std::string dict = "{'descr': '";
  for (const Descr& d : descrs)
    if (d.dtype == tensor.dtype()) dict += d.text;
  if (dict.back() == '\'')
    fail(Code::unsupported, "NumPy has no ", name_of(tensor.dtype()), "; convert it first");
  dict += "', 'fortran_order': False, 'shape': (";
  for (int64_t d : tensor.shape()) dict += concat(d, ", ");
  if (tensor.shape().rank() > 1) dict.resize(dict.size() - 2);
  if (tensor.shape().rank() == 1) dict.resize(dict.size() - 1);
  dict += "), }";
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string out(magic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  out += dict;
  if (tensor.bytes() > 0) out.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  return out;
}

}  // namespace hub
