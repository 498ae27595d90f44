#include "tests/runtime/onnx_node/values.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "runtime/import/dtype.h"
#include "runtime/import/onnx_tensor.h"
#include "runtime/op.h"

namespace hub {
namespace {

template <class Message>
Message parse(const std::string& path) {
  Message message;
  if (!message.ParseFromString(read_file(path))) fail(Code::unsupported, path, " cannot be parsed");
  return message;
}

Tensor tensor_of(onnx::Tensor message) {
  static const FolderFiles none("");
  static OnnxExternalData external(none, RelPath::parse("none"));
  return onnx_tensor(message, external);
}

Tensor list_of(const onnx::Sequence& message) {
  std::vector<Tensor> items;
  for (const onnx::Tensor& t : message.tensor_values()) items.push_back(tensor_of(t));
  for (const onnx::Sequence& s : message.sequence_values()) items.push_back(list_of(s));
  return Tensor::list(std::move(items));
}

/// Types that are stored as whole numbers of the same size in some files.
Tensor typed(const Tensor& t, const onnx::Type& type) {
  const DType declared = onnx_dtype(type.tensor_type().elem_type(), "a value");
  const bool bits = (t.dtype() == DType::u16 && declared == DType::bf16) ||
                    (t.dtype() == DType::u8 && size_of(declared) == 1);
  return bits ? Tensor(declared, t.shape(), t.owner(), t.raw()) : t;
}

/// Floats of 8 bits and the like as numbers.
Tensor plain(const Tensor& t) {
  switch (t.dtype()) {
    case DType::f8e4m3:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: {
      const Tensor* const in[] = {&t};
      return run_reference(*find_op("cast"), {{"to", "float32"}}, in)[0];
    }
    default: return t;
  }
}

double number(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::f64: return t.data<double>()[i];
    case DType::i64: return static_cast<double>(t.data<int64_t>()[i]);
    case DType::u64: return static_cast<double>(t.data<uint64_t>()[i]);
    default: return 0;
  }
}

void check_lists(const Tensor& found, const Tensor& wanted, double relative, double absolute) {
  const auto& f = found.items();
  const auto& w = wanted.items();
  if (f.size() != w.size())
    fail(Code::numeric, "wrong list: it has ", f.size(), " items, wanted ", w.size());
  for (size_t i = 0; i < f.size(); ++i)
    within(concat("item ", i), [&] { check_equal(f[i], w[i], relative, absolute); });
}

void check_strings(const Tensor& found, const Tensor& wanted) {
  for (int64_t i = 0; i < found.numel(); ++i) {
    const std::string& f = found.data<std::string>()[i];
    const std::string& w = wanted.data<std::string>()[i];
    if (f != w) fail(Code::numeric, "wrong string: element ", i, " is '", f, "', wanted '", w, "'");
  }
}

}  // namespace

Tensor read_value(const std::string& path, const onnx::Type& type) {
  if (type.has_sequence_type()) return list_of(parse<onnx::Sequence>(path));
  if (!type.has_optional_type()) return typed(tensor_of(parse<onnx::Tensor>(path)), type);
  const auto message = parse<onnx::Optional>(path);
  if (message.has_tensor_value()) return Tensor::list({tensor_of(message.tensor_value())});
  if (message.has_sequence_value()) return Tensor::list({list_of(message.sequence_value())});
  return Tensor::list({});
}

void check_equal(const Tensor& found, const Tensor& wanted, double relative, double absolute) {
  if (found.spec() != wanted.spec())
    fail(Code::numeric, "wrong type or shape: found ", found.spec().str(), ", wanted ",
         wanted.spec().str());
  if (found.dtype() == DType::list) return check_lists(found, wanted, relative, absolute);
  if (found.dtype() == DType::string) return check_strings(found, wanted);
  const bool wide = size_of(found.dtype()) == 8;
  const auto f = wide ? std::vector<float>{} : plain(found).to_floats();
  const auto w = wide ? std::vector<float>{} : plain(wanted).to_floats();
  for (int64_t i = 0; i < found.numel(); ++i) {
    const double a = wide ? number(found, i) : f[static_cast<size_t>(i)];
    const double b = wide ? number(wanted, i) : w[static_cast<size_t>(i)];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= absolute + relative * std::fabs(b)))
      fail(Code::numeric, "wrong number: element ", i, " of ", found.spec().str(), " is ", a,
           ", wanted ", b);
  }
}

}  // namespace hub
