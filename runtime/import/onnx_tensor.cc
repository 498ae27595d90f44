#include "runtime/import/onnx_tensor.h"

#include <charconv>
#include <utility>

#include "base/error.h"
#include "runtime/import/dtype.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

/// Integers of a typed field into elements of T; bits for the 16-bit floats.
template <class T, class Values>
void convert(const Values& values, T* out) {
  for (auto v : values) {
    if constexpr (std::is_same_v<T, bool>) {
      *out++ = v != 0;
    } else {
      if (!std::in_range<T>(v)) fail(Code::refused, "the number ", v, " does not fit its type");
      *out++ = static_cast<T>(v);
    }
  }
}

/// Two numbers lie in a byte of a file, the first one in its lower half.
bool is_half_byte(DType dtype) { return dtype == DType::i4 || dtype == DType::u4; }

size_t bytes_in_file(const Spec& spec) {
  const size_t bytes = bytes_of(spec);
  return is_half_byte(spec.dtype) ? (bytes + 1) / 2 : bytes;
}

Tensor from_half_bytes(const Spec& spec, std::span<const std::byte> bytes) {
  if (bytes.size() != bytes_in_file(spec))
    fail(Code::refused, spec.str(), " needs ", bytes_in_file(spec), " bytes, there are ",
         bytes.size());
  Tensor t(spec.dtype, spec.shape);
  for (size_t i = 0; i < t.bytes(); ++i) {
    const int half = std::to_integer<int>(bytes[i / 2]) >> (i % 2 * 4) & 15;
    t.data<int8_t>()[i] =
        static_cast<int8_t>(spec.dtype == DType::i4 && half > 7 ? half - 16 : half);
  }
  return t;
}

Tensor from_bytes(const Spec& spec, std::span<const std::byte> bytes,
                  std::shared_ptr<const void> owner) {
  if (spec.dtype == DType::string) fail(Code::refused, "strings do not lie in raw bytes");
  return is_half_byte(spec.dtype) ? from_half_bytes(spec, bytes)
                                  : tensor_from_bytes(spec, bytes, std::move(owner));
}

/// The numbers of a tensor without raw bytes, from the field that belongs to its type.
Tensor from_fields(const onnx::Tensor& from, const Spec& spec) {
  const auto check = [&](int count) {
    if (count != spec.shape.numel()) fail(Code::refused, spec.str(), " holds ", count, " numbers");
  };
  Tensor t;
  if (spec.dtype == DType::string) {
    check(from.string_data_size());
    return Tensor::strings(spec.shape, {from.string_data().begin(), from.string_data().end()});
  }
  if (is_half_byte(spec.dtype)) {
    std::string bytes;
    for (int32_t v : from.int32_data()) bytes += static_cast<char>(v);
    return from_half_bytes(spec, std::as_bytes(std::span(bytes)));
  }
  const auto integers = [&]<class T>(T*, const auto& values) {
    check(values.size());
    t = Tensor(spec.dtype, spec.shape);
    convert(values, t.data<T>());
  };
  const auto reals = [&]<class T>(const google::protobuf::RepeatedField<T>& values) {
    check(values.size());
    t = Tensor::of<T>(spec.shape,
                      std::span<const T>(values.data(), static_cast<size_t>(values.size())));
  };
  switch (spec.dtype) {
    case DType::f32: reals(from.float_data()); break;
    case DType::f64: reals(from.double_data()); break;
    case DType::i64: integers(static_cast<int64_t*>(nullptr), from.int64_data()); break;
    case DType::u32: integers(static_cast<uint32_t*>(nullptr), from.uint64_data()); break;
    case DType::u64: integers(static_cast<uint64_t*>(nullptr), from.uint64_data()); break;
    case DType::i32: integers(static_cast<int32_t*>(nullptr), from.int32_data()); break;
    case DType::i16: integers(static_cast<int16_t*>(nullptr), from.int32_data()); break;
    case DType::i8: integers(static_cast<int8_t*>(nullptr), from.int32_data()); break;
    case DType::f8e4m3:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::u8: integers(static_cast<uint8_t*>(nullptr), from.int32_data()); break;
    case DType::boolean: integers(static_cast<bool*>(nullptr), from.int32_data()); break;
    case DType::u16:
    case DType::f16:
    case DType::bf16: integers(static_cast<uint16_t*>(nullptr), from.int32_data()); break;
    default: fail(Code::unsupported, spec.str(), " cannot be read from numbers");
  }
  return t;
}

uint64_t parse_count(std::string_view key, std::string_view text) {
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail(Code::refused, "external data: ", key, " '", text, "' is not a count of bytes");
  return n;
}

Tensor read(onnx::Tensor& from, OnnxExternalData& external) {
  if (from.has_segment()) fail(Code::unsupported, "it is stored in segments");
  Shape shape(std::span<const int64_t>(from.dims().data(), static_cast<size_t>(from.dims_size())));
  const Spec spec{onnx_dtype(from.data_type(), "it"), shape};
  const size_t size = bytes_in_file(spec);
  if (from.data_location() == 1) {
    std::shared_ptr<const void> owner;
    const std::span<const std::byte> bytes = external.find(from, size, owner);
    return from_bytes(spec, bytes, std::move(owner));
  }
  if (from.data_location() != 0)
    fail(Code::refused, "unknown data location ", from.data_location());
  if (!from.has_raw_data()) return from_fields(from, spec);
  auto raw = std::make_shared<const std::string>(std::move(*from.mutable_raw_data()));
  return from_bytes(spec, std::as_bytes(std::span(*raw)), raw);
}

/// Sequences of tensors, and optional tensors and sequences of them.
bool is_list(const onnx::Type& type) {
  const auto of_tensors = [](const onnx::Type::OfItems& items) {
    return !items.has_elem_type() || items.elem_type().has_tensor_type();
  };
  if (type.has_sequence_type()) return of_tensors(type.sequence_type());
  if (!type.has_optional_type()) return false;
  const onnx::Type& inside = type.optional_type().elem_type();
  return of_tensors(type.optional_type()) ||
         (inside.has_sequence_type() && of_tensors(inside.sequence_type()));
}

}  // namespace

std::span<const std::byte> OnnxExternalData::find(const onnx::Tensor& tensor, size_t size,
                                                  std::shared_ptr<const void>& owner) {
  std::string location;
  uint64_t offset = 0, length = size;
  for (const onnx::Entry& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      offset = parse_count("offset", entry.value());
    } else if (entry.key() == "length") {
      length = parse_count("length", entry.value());
    } else if (entry.key() != "checksum") {
      fail(Code::refused, "external data: unknown key '", entry.key(), "'");
    }
  }
  const RelPath path = within("external data", [&] { return model_.sibling(location); });
  const auto it = open_.find(path);
  const MappedFile& file =
      it != open_.end() ? it->second : open_.emplace(path, files_.open(path)).first->second;
  if (length != size)
    fail(Code::refused, "external data: length ", length, " where the shape needs ", size,
         " bytes");
  if (offset > file.size() || length > file.size() - offset)
    fail(Code::refused, "external data: bytes ", offset, " + ", length, " are past the end of '",
         path.str(), "' (", file.size(), " bytes)");
  owner = file.owner();
  return file.bytes().subspan(offset, length);
}

Tensor onnx_tensor(onnx::Tensor& tensor, OnnxExternalData& external) {
  return within(concat("tensor '", tensor.name(), "'"), [&] { return read(tensor, external); });
}

Spec onnx_spec(const onnx::ValueInfo& info) {
  if (!info.has_type() || info.type().value_case() == onnx::Type::VALUE_NOT_SET) return {};
  if (is_list(info.type())) return {DType::list, {}};
  if (!info.type().has_tensor_type())
    fail(Code::unsupported, "'", info.name(),
         "' is no tensor, sequence of tensors or optional one of these");
  const onnx::Type::OfTensor& type = info.type().tensor_type();
  const DType dtype = onnx_dtype(type.elem_type(), concat("'", info.name(), "'"));
  if (!type.has_shape()) return {};
  Spec spec{dtype, {}};
  for (const onnx::TensorShape::Dimension& dim : type.shape().dim())
    spec.shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  return spec;
}

}  // namespace hub
