// CTranslate2 model.bin, binary version 6, little-endian (python/ctranslate2/specs/model_spec.py):
// version, name of the specification, its revision, the variables (name, dimensions, type, bytes),
// the aliases. A string is its length with the zero behind it, the bytes, the zero.
#include "runtime/import/ctranslate2.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

constexpr uint32_t version = 6;
/// The least that a variable and an alias take: an empty name, no dimensions, no bytes.
constexpr size_t least_variable = 3 + 1 + 1 + 4, least_alias = 3 + 3;

/// By the number that the file has.
constexpr DType types[] = {DType::f32, DType::i8, DType::i16, DType::i32, DType::f16, DType::bf16};

class Reader {
 public:
  explicit Reader(const MappedFile& file) : file_(file) {}

  size_t left() const { return file_.size() - at_; }

  std::span<const std::byte> bytes(size_t count, std::string_view what) {
    if (count > left())
      fail(Code::refused, "it is cut: ", what, " takes ", count, " bytes from byte ", at_, ", ",
           left(), " are left");
    at_ += count;
    return file_.bytes().subspan(at_ - count, count);
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, bytes(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string text(std::string_view what) {
    const auto all = bytes(number<uint16_t>(what), what);
    const std::string_view chars(reinterpret_cast<const char*>(all.data()), all.size());
    if (chars.empty() || chars.find('\0') != chars.size() - 1 || !valid_utf8(chars))
      fail(Code::refused, what, " that ends at byte ", at_, " is not text with one zero behind it");
    return std::string(chars.substr(0, chars.size() - 1));
  }

  /// How many things follow, none of which takes less than `least` bytes.
  uint32_t count(size_t least, std::string_view what) {
    const auto count = number<uint32_t>(what);
    if (count > left() / least)
      fail(Code::refused, "it says that it has ", count, " ", what, ", for which ", left(),
           " bytes are too few");
    return count;
  }

 private:
  const MappedFile& file_;
  size_t at_ = 0;
};

Tensor read_tensor(Reader& reader, const std::string& name, const MappedFile& file) {
  Shape shape;
  const auto rank = reader.number<uint8_t>("a number of dimensions");
  for (int i = 0; i < rank; ++i) shape.push_back(reader.number<uint32_t>("a dimension"));
  const auto type = reader.number<uint8_t>("a type");
  if (type >= std::size(types))
    fail(Code::unsupported, "tensor '", printable(name), "' has the type ", int{type},
         "; those known are 0 to ", std::size(types) - 1);
  const auto size = reader.number<uint32_t>("a size");
  return within(concat("tensor '", printable(name), "'"), [&] {
    return tensor_from_bytes({types[type], shape}, reader.bytes(size, "its numbers"), file.owner());
  });
}

}  // namespace

NamedTensors read_ctranslate2(const MappedFile& file) {
  return within("CTranslate2 file", [&] {
    Reader reader(file);
    if (const auto found = reader.number<uint32_t>("the version"); found != version)
      fail(Code::unsupported, "its first number, the binary version, is ", found, "; ", version,
           " is wanted: convert the model again with a later CTranslate2");
    reader.text("the specification's name");
    reader.number<uint32_t>("the revision");
    NamedTensors tensors;
    const auto keep = [&](std::string name, const Tensor& tensor) {
      const auto [it, fresh] = tensors.try_emplace(std::move(name), tensor);
      if (!fresh) fail(Code::refused, "'", printable(it->first), "' is there twice");
    };
    for (uint32_t n = reader.count(least_variable, "variables"); n > 0; --n) {
      const std::string name = reader.text("a variable's name");
      keep(name, read_tensor(reader, name, file));
    }
    for (uint32_t n = reader.count(least_alias, "aliases"); n > 0; --n) {
      std::string alias = reader.text("an alias");
      const std::string name = reader.text("the name behind an alias");
      const auto it = tensors.find(name);
      if (it == tensors.end())
        fail(Code::refused, "'", printable(alias), "' stands for '", printable(name),
             "', which is not there");
      keep(std::move(alias), it->second);
    }
    if (reader.left() > 0)
      fail(Code::refused, reader.left(), " bytes follow behind the last alias");
    return tensors;
  });
}

}  // namespace hub
