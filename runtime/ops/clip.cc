// clip(x, min?, max?): bounds are tensors of one number, of any real type; max wins where min is
// above it. clip_grad(x, dy, min?, max?): dy where x lies between the bounds, not on one, as in
// torch.
#include <limits>

#include "runtime/ops/rules.h"
#include "runtime/ops/slope.h"

namespace hub {
namespace {

void check_bounds(const Infer& in, size_t first) {
  for (size_t i : {first, first + 1}) {
    if (!in.has(i)) continue;
    check_type(in, i, Numbers{});
    if (in.in(i).shape.numel() != 1)
      fail(Code::refused, "input ", i, " is ", in.in(i).str(), ": one number is wanted");
  }
}

std::vector<Spec> infer_clip(const Infer& in) {
  check_type(in, 0, Numbers{});
  check_bounds(in, 1);
  return {in.in(0)};
}
std::vector<Spec> infer_clip_grad(const Infer& in) {
  check_bounds(in, 2);
  return infer_slope(in);
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

/// Both, the lower one being input `first`.
template <class T>
std::pair<wide_t<T>, wide_t<T>> bounds(const Call& call, size_t first) {
  using Limits = std::numeric_limits<wide_t<T>>;
  return {bound<T>(call, first, Limits::has_infinity ? -Limits::infinity() : Limits::lowest()),
          bound<T>(call, first + 1, Limits::has_infinity ? Limits::infinity() : Limits::max())};
}

void forward_clip(const Call& call) {
  const int64_t n = call.x(0).numel();
  dispatch(Numbers{}, call.x(0).dtype(), [&]<class T>() {
    using W = wide_t<T>;
    const auto limits = bounds<T>(call, 1);
    const W low = limits.first, high = limits.second;
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

void grad_clip(Grad& g) { g.dx(0, apply("clip_grad", {g.x(0), g.dy(), g.x(1), g.x(2)})); }

void forward_clip_grad(const Call& call) {
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    const auto limits = bounds<T>(call, 2);
    const wide_t<T> low = limits.first, high = limits.second;
    map_slope<T>(call, [low = low, high = high](auto x, auto dy) {
      return x > low && x < high ? dy : decltype(dy){0};
    });
  });
}
void grad_clip_grad(Grad& g) { g.dx(1, apply("clip_grad", {g.x(0), g.dy(), g.x(2), g.x(3)})); }

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

void paddle_brelu(ImportNode& n) {
  n.out("Out", clip(n.need("X"), n.attrs.f("t_min", 0), n.attrs.f("t_max", 24)));
}

void paddle_relu6(ImportNode& n) { n.out("Out", clip(n.need("X"), 0, n.attrs.f("threshold", 6))); }

}  // namespace

extern const OpDef clip_op = {
    .name = "clip",
    .max_inputs = 3,
    .infer = infer_clip,
    .forward = forward_clip,
    .grad = grad_clip,
    .settings = 0b110,
    .imports = {{"onnx:Clip", onnx_clip},
                {"paddle:clip", paddle_clip},
                {"paddle:brelu", paddle_brelu},
                {"paddle:relu6", paddle_relu6}},
};

extern const OpDef clip_grad_op = {
    .name = "clip_grad",
    .min_inputs = 2,
    .max_inputs = 4,
    .infer = infer_clip_grad,
    .forward = forward_clip_grad,
    .grad = grad_clip_grad,
    .in_place = {1},
    .settings = 0b1100,
};

}  // namespace hub
