// clip(x, min?, max?): bounds are tensors of one number, of any real type; max wins where min is
// above it.
#include <limits>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_clip(const Infer& in) {
  check_type(in, 0, Numbers{});
  for (size_t i : {1, 2}) {
    if (!in.has(i)) continue;
    check_type(in, i, Numbers{});
    if (in.in(i).shape.numel() != 1)
      fail(Code::refused, "input ", i, " is ", in.in(i).str(), ": one number is wanted");
  }
  return {in.in(0)};
}

/// The bound i in the type that elements T are compared in.
template <class T>
wide_t<T> bound(const Call& call, size_t i, wide_t<T> fallback) {
  wide_t<T> value = fallback;
  if (!call.has(i)) return value;
  dispatch(Numbers{}, call.x(i).dtype(), [&]<class B>() {
    value = convert<wide_t<T>>(static_cast<wide_t<B>>(*call.x(i).data<B>()));
  });
  return value;
}

void forward_clip(const Call& call) {
  const int64_t n = call.x(0).numel();
  dispatch(Numbers{}, call.x(0).dtype(), [&]<class T>() {
    using W = wide_t<T>;
    using Limits = std::numeric_limits<W>;
    const W low = bound<T>(call, 1, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    const W high = bound<T>(call, 2, Limits::has_infinity ? Limits::infinity() : Limits::max());
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    parallel(n, 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        W v = static_cast<W>(x[i]);
        v = v < low ? low : v;
        y[i] = static_cast<T>(v > high ? high : v);
      }
    });
  });
}

/// Attributes before opset 11, inputs since.
void onnx_clip(ImportNode& n) {
  auto limit = [&](size_t i, std::string_view name) {
    if (n.in(i) || !n.attrs.has(name)) return n.in(i);
    return constant(n.program, Tensor::scalar(static_cast<float>(n.attrs.f(name))));
  };
  n.out(0, apply("clip", {n.need(0), limit(1, "min"), limit(2, "max")}));
}

void paddle_clip(ImportNode& n) {
  auto limit = [&](std::string_view slot, std::string_view name) {
    if (const Var v = n.in(slot)) return v;
    return constant(n.program, Tensor::scalar(static_cast<float>(n.attrs.f(name))));
  };
  n.out("Out", apply("clip", {n.need("X"), limit("Min", "min"), limit("Max", "max")}));
}

void paddle_relu6(ImportNode& n) { n.out("Out", clip(n.need("X"), 0, n.attrs.f("threshold", 6))); }

}  // namespace

const OpDef clip_op = {
    .name = "clip",
    .max_inputs = 3,
    .infer = infer_clip,
    .forward = forward_clip,
    .imports = {{"onnx:Clip", onnx_clip},
                {"paddle:clip", paddle_clip},
                {"paddle:relu6", paddle_relu6}},
};

}  // namespace hub
