// lookup(x, keys, values, other): for each element of x the value whose key it is, the first of
// several, or the one number (or string) `other`. NaN is a key like any number.
#include <unordered_map>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Keys = decltype(Everything{} + Types<std::string>{});

std::vector<Spec> infer_lookup(const Infer& in) {
  check_type(in, 0, Keys{});
  check_same_type(in, 0, 1);
  check_type(in, 2, Keys{});
  check_same_type(in, 2, 3);
  if (in.in(1).shape.rank() != 1 || in.in(2).shape != in.in(1).shape)
    fail(Code::refused, "keys are ", in.in(1).str(), ", values ", in.in(2).str());
  if (in.in(3).shape.numel() != 1)
    fail(Code::refused, "input 3 is ", in.in(3).str(), ": one is wanted");
  return {{in.in(2).dtype, in.in(0).shape}};
}

/// Equal for equal elements.
std::string key_of(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::string) return t.data<std::string>()[i];
  std::string key;
  dispatch(Everything{}, t.dtype(), [&]<class T>() {
    T v = t.data<T>()[i];
    if constexpr (is_float<T>) {
      const auto wide = static_cast<double>(static_cast<wide_t<T>>(v));
      // One key for both zeros, and one for all NaNs.
      const double one = wide == 0 ? 0.0 : std::isnan(wide) ? std::nan("") : wide;
      key.append(reinterpret_cast<const char*>(&one), sizeof one);
    } else {
      key.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
  });
  return key;
}

void forward_lookup(const Call& call) {
  std::unordered_map<std::string, int64_t> place;
  for (int64_t k = 0; k < call.x(1).numel(); ++k) place.try_emplace(key_of(call.x(1), k), k);
  for (int64_t i = 0; i < call.y().numel(); ++i) {
    const auto it = place.find(key_of(call.x(0), i));
    if (it == place.end()) {
      copy_elements(call.x(3), 0, 1, call.y(), i);
    } else {
      copy_elements(call.x(2), it->second, 1, call.y(), i);
    }
  }
}

/// Keys and values stand in tensors since version 4 of ai.onnx.ml, in lists before.
Tensor listed(const ImportNode& n, const std::string& name) {
  if (n.attrs.has(concat(name, "_tensor"))) {
    const Tensor& t = n.attrs.tensor(concat(name, "_tensor"));
    return t.reshaped({t.numel()});
  }
  if (n.attrs.has(concat(name, "_strings"))) {
    auto strings = n.attrs.strings(concat(name, "_strings"));
    const auto count = static_cast<int64_t>(strings.size());
    return Tensor::strings({count}, std::move(strings));
  }
  if (n.attrs.has(concat(name, "_int64s")))
    return Tensor::ints(n.attrs.ints(concat(name, "_int64s")));
  if (!n.attrs.has(concat(name, "_floats"))) n.refuse("it has no ", name);
  const auto numbers = n.attrs.floats(concat(name, "_floats"));
  return Tensor::floats({static_cast<int64_t>(numbers.size())}, {numbers.begin(), numbers.end()});
}

void onnx_label_encoder(ImportNode& n) {
  const Tensor values = listed(n, "values");
  Tensor other;
  if (n.attrs.has("default_tensor")) {
    other = n.attrs.tensor("default_tensor");
  } else if (values.dtype() == DType::string) {
    other = Tensor::strings({}, {n.attrs.s("default_string", "_Unused")});
  } else if (one_of_types(Floats{}, values.dtype())) {
    other = scalar_of(values.dtype(), n.attrs.f("default_float", -0.0));
  } else {
    other = scalar_of(values.dtype(), static_cast<double>(n.attrs.i("default_int64", -1)));
  }
  n.out(0, apply("lookup", {n.need(0), constant(n.program, listed(n, "keys")),
                            constant(n.program, values), constant(n.program, other)}));
}

/// The columns that the second input names.
void onnx_array_feature_extractor(ImportNode& n) {
  const Var at = reshape(n.need(1), {-1});
  Var x = n.need(0);
  if (shape_of(n, x).rank() == 1) x = reshape(x, {1, -1});
  n.out(0, apply("gather", {x, at}, {{"axis", int64_t{-1}}}));
}

void onnx_binarizer(ImportNode& n) {
  const Var x = n.need(0);
  n.out(0, apply("cast", {apply("greater", {x, scalar_like(n, x, n.attrs.f("threshold", 0))}), x}));
}

}  // namespace

extern const OpDef lookup_op = {
    .name = "lookup",
    .min_inputs = 4,
    .max_inputs = 4,
    .infer = infer_lookup,
    .forward = forward_lookup,
    .grad = zero_gradient,
    .settings = 0b1111,
    .strings = true,
    .imports = {{"ai.onnx.ml:LabelEncoder", onnx_label_encoder},
                {"ai.onnx.ml:ArrayFeatureExtractor", onnx_array_feature_extractor},
                {"ai.onnx.ml:Binarizer", onnx_binarizer}}};

}  // namespace hub
