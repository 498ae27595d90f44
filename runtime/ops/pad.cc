// pad(x, pads, value?, axes?): pads are the numbers of elements to put before each axis named (all
// when axes is absent), then those behind; negative ones take away. `mode` is "constant" (value,
// 0), "edge", "reflect" (without repeating the border) or "wrap". pad_grad(dy, like, pads, axes?)
// adds each element of dy to where in something shaped like `like` pad had read it.
#include "runtime/ops/pad.h"

#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Counts = std::array<int64_t, Shape::max_rank>;

std::pair<Counts, Counts> begins_and_ends(const Shape& shape, const std::vector<int64_t>& pads,
                                          const std::vector<int64_t>* axes) {
  Counts begins{};
  Counts ends{};
  std::vector<size_t> which;
  if (axes != nullptr) {
    which = axes_of(*axes, shape.rank());
  } else {
    for (size_t d = 0; d < shape.rank(); ++d) which.push_back(d);
  }
  if (pads.size() != 2 * which.size())
    fail(Code::refused, pads.size(), " pads for ", which.size(), " axes");
  constexpr int64_t most = int64_t{1} << 60;
  for (int64_t n : pads)
    if (n < -most || n > most) fail(Code::refused, "a pad of ", n, " elements");
  for (size_t i = 0; i < which.size(); ++i) {
    begins[which[i]] = pads[i];
    ends[which[i]] = pads[which.size() + i];
  }
  return {begins, ends};
}

std::vector<Spec> infer_pad(const Infer& in) {
  Spec out = in.in(0);
  const auto mode = in.attrs.s("mode", "constant");
  const bool constant = mode == "constant";
  if (!constant && mode != "edge" && mode != "reflect" && mode != "wrap")
    fail(Code::unsupported, "mode '", mode, "'");
  if (in.has(2)) {
    check_same_type(in, 0, 2);
    if (in.in(2).shape.numel() != 1)
      fail(Code::refused, "input 2 is ", in.in(2).str(), ": one number is wanted");
  }
  const auto axes = ints_of(in, 3, {});
  const auto [begins, ends] =
      begins_and_ends(out.shape, ints_of(in, 1), in.has(3) ? &axes : nullptr);
  for (size_t d = 0; d < out.shape.rank(); ++d) {
    int64_t& length = out.shape[d];
    if (!constant && length == 0 && (begins[d] > 0 || ends[d] > 0))
      fail(Code::refused, "nothing to pad from");
    if (__builtin_add_overflow(length, begins[d], &length) ||
        __builtin_add_overflow(length, ends[d], &length) || length < 0) {
      fail(Code::refused, "dimension ", d, " of ", in.in(0).str(), " padded by ", begins[d],
           " and ", ends[d]);
    }
  }
  return {out};
}

/// Where in a dimension of `length` position `i` (which may lie outside) is read; -1: the constant.
int64_t source(int64_t i, int64_t length, std::string_view mode) {
  if (i >= 0 && i < length) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return i < 0 ? 0 : length - 1;
  if (mode == "wrap") return (i % length + length) % length;
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t at = (i % period + period) % period;
  return at < length ? at : period - at;
}

/// Calls f(k, at) for each element k of the padded shape `to`: it is read at `at` of `from`, or is
/// the constant where that is negative. Inputs `pads` and `axes` say how.
template <class F>
void each_padded(const Call& call, const Shape& from, const Shape& to, size_t pads, size_t axes_at,
                 F f) {
  if (to.numel() == 0) return;
  std::vector<int64_t> axes;
  if (call.has(axes_at)) axes = call.x(axes_at).to_ints();
  PadOffsets offsets = pad_offsets(call.attrs, from, to, call.x(pads).to_ints(),
                                   call.has(axes_at) ? &axes : nullptr);
  const size_t last = to.rank() == 0 ? 0 : to.rank() - 1;
  if (to.rank() == 0) offsets[0] = {0};
  Counts index{};
  int64_t k = 0;
  for (int64_t row = 0; row < to.numel(0, last); ++row) {
    int64_t start = 0;
    for (size_t d = 0; d < last && start >= 0; ++d) {
      const int64_t at = offsets[d][static_cast<size_t>(index[d])];
      start = at < 0 ? -1 : start + at;
    }
    for (int64_t at : offsets[last]) f(k++, start < 0 || at < 0 ? -1 : start + at);
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < to[d]) break;
      index[d] = 0;
    }
  }
}

void forward_pad(const Call& call) {
  dispatch_size(call.y().dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    const T filler = call.has(2) ? *call.x(2).data<T>() : T{0};
    each_padded(call, call.x(0).shape(), call.y().shape(), 1, 3,
                [&](int64_t k, int64_t at) { y[k] = at < 0 ? filler : x[at]; });
  });
}

/// With a constant around it what was put on is taken off again.
void grad_pad(Grad& g) {
  if (g.attrs.s("mode", "constant") == "constant")
    return g.dx(0, apply("pad", {g.dy(), neg(g.x(1)), {}, g.x(3)}));
  g.dx(0, apply("pad_grad", {g.dy(), g.x(0), g.x(1), g.x(3)}, g.attrs));
}

std::vector<Spec> infer_pad_grad(const Infer& in) {
  check_type(in, 0, Floats{});
  const Spec* seen[] = {&in.in(1), &in.in(2), nullptr, in.has(3) ? &in.in(3) : nullptr};
  const Tensor* values[] = {nullptr, &in.value(2), nullptr, in.has(3) ? &in.value(3) : nullptr};
  const Shape padded = infer_pad(Infer(in.attrs, seen, values))[0].shape;
  if (in.in(0).shape != padded)
    fail(Code::refused, "the gradient is ", in.in(0).str(), ", wanted ", padded.str());
  return {{in.in(0).dtype, in.in(1).shape}};
}

void forward_pad_grad(const Call& call) {
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    const T* dy = call.x(0).data<T>();
    T* dx = call.y().data<T>();
    std::fill_n(dx, call.y().numel(), T(0));
    each_padded(call, call.y().shape(), call.x(0).shape(), 2, 3, [&](int64_t k, int64_t at) {
      using W = wide_t<T>;
      if (at >= 0) dx[at] = static_cast<T>(static_cast<W>(dx[at]) + static_cast<W>(dy[k]));
    });
  });
}

void grad_pad_grad(Grad& g) { g.dx(0, apply("pad", {g.dy(), g.x(2), {}, g.x(3)}, g.attrs)); }

// ---- import rules ----

/// Attributes before opset 11 ("paddings" in the first), inputs since.
void onnx_pad(ImportNode& n) {
  const Var x = n.need(0);
  const Var pads = ints_input(n, 1, n.attrs.has("paddings") ? "paddings" : "pads");
  if (!pads) n.refuse("no pads are given");
  Var value = n.in(2);
  if (!value && n.attrs.has("value")) value = scalar_like(n, x, n.attrs.f("value"));
  n.out(0, apply("pad", {x, pads, value, n.in(3)}, {{"mode", n.attrs.s("mode", "constant")}}));
}

std::string mode_of(const ImportNode& n) {
  const auto mode = n.attrs.s("mode", "constant");
  return mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode;
}

void paddle_padded(ImportNode& n, std::vector<int64_t> pads, std::vector<int64_t> axes,
                   std::string_view value) {
  const Var x = n.need("X");
  Attrs attrs{{"mode", mode_of(n)}};
  n.out("Out",
        apply("pad", {x, ints(n, pads), scalar_like(n, x, n.attrs.f(value, 0)), ints(n, axes)},
              attrs));
}

/// Begin and end of each dimension, one dimension after the other.
void paddle_pad(ImportNode& n) {
  const auto given = n.attrs.ints("paddings");
  std::vector<int64_t> pads;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < given.size(); i += 2) {
    pads.push_back(given[i]);
    axes.push_back(static_cast<int64_t>(i / 2));
  }
  for (size_t i = 1; i < given.size(); i += 2) pads.push_back(given[i]);
  paddle_padded(n, pads, axes, "pad_value");
}

/// The numbers `given`, or those of the input that replaces them.
std::vector<int64_t> paddings(const ImportNode& n, size_t count) {
  const Var v = n.in("Paddings");
  const auto pads = v ? n.known(v).to_ints() : n.attrs.ints("paddings");
  if (pads.size() != count) n.refuse(pads.size(), " paddings, wanted ", count);
  return pads;
}

/// [top, bottom, left, right].
void paddle_pad2d(ImportNode& n) {
  const auto p = paddings(n, 4);
  const bool channels_last = n.attrs.s("data_format", "NCHW") == "NHWC";
  paddle_padded(n, {p[0], p[2], p[1], p[3]},
                channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3},
                "pad_value");
}

/// [left, right, top, bottom, front, back].
void paddle_pad3d(ImportNode& n) {
  const auto p = paddings(n, 6);
  const bool channels_last = n.attrs.s("data_format", "NCDHW") == "NDHWC";
  const std::vector<int64_t> axes =
      channels_last ? std::vector<int64_t>{1, 2, 3} : std::vector<int64_t>{2, 3, 4};
  paddle_padded(n, {p[4], p[2], p[0], p[5], p[3], p[1]}, axes, "value");
}

/// Half of what is too much or too little before, the rest behind.
void onnx_center_crop_pad(ImportNode& n) {
  const Var x = n.need(0);
  Var dims = apply("shape", {x});
  Var axes;
  if (n.attrs.has("axes")) {
    axes = ints(n, n.attrs.ints("axes"));
    dims = apply("gather", {dims, axes});
  }
  const Var more = sub(cast_to(n.need(1), DType::i64), dims);
  const Var before = div(more, ints(n, {2}));
  const Var pads = apply("concat", {before, sub(more, before)}, {{"axis", int64_t{0}}});
  n.out(0, apply("pad", {x, pads, {}, axes}));
}

}  // namespace

PadOffsets pad_offsets(const Attrs& attrs, const Shape& from, const Shape& to,
                       const std::vector<int64_t>& pads, const std::vector<int64_t>* axes) {
  const auto mode = attrs.s("mode", "constant");
  const auto begins = begins_and_ends(from, pads, axes).first;
  const Strides strides = strides_of(from);
  PadOffsets offsets;
  for (size_t d = 0; d < to.rank(); ++d) {
    for (int64_t i = 0; i < to[d]; ++i) {
      const int64_t at = source(i - begins[d], from[d], mode);
      offsets[d].push_back(at < 0 ? -1 : at * strides[d]);
    }
  }
  return offsets;
}

extern const OpDef pad_op = {
    .name = "pad",
    .min_inputs = 2,
    .max_inputs = 4,
    .infer = infer_pad,
    .forward = forward_pad,
    .grad = grad_pad,
    .settings = 0b100,
    .imports = {{"onnx:Pad", onnx_pad},
                {"onnx:CenterCropPad", onnx_center_crop_pad},
                {"paddle:pad", paddle_pad},
                {"paddle:pad2d", paddle_pad2d},
                {"paddle:pad3d", paddle_pad3d}},
};

extern const OpDef pad_grad_op = {
    .name = "pad_grad",
    .min_inputs = 3,
    .max_inputs = 4,
    .spec_only = 0b10,
    .infer = infer_pad_grad,
    .forward = forward_pad_grad,
    .grad = grad_pad_grad,
    .settings = 0b10,
};

}  // namespace hub
