// slice(x, starts, ends, axes?, steps?): along each axis named (the first ones when axes is absent)
// every step-th element from start up to end, not included. Bounds count from the back when
// negative and are limited to the dimension.
// slice_grad(dy, like, starts, ends, axes?, steps?): the elements of a slice of something shaped
// like `like` back at their places, zeros elsewhere.
#include <algorithm>
#include <limits>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

struct Range {
  int64_t start = 0, step = 1, count = 0;
};

Range range_of(int64_t start, int64_t end, int64_t step, int64_t length) {
  if (step == 0) fail(Code::refused, "a step of 0");
  step = std::clamp<int64_t>(step, -length - 1, length + 1);  // a longer step ends just as soon
  auto from_back = [&](int64_t i) { return i < 0 ? i + length : i; };
  Range r{.step = step};
  if (step > 0) {
    r.start = std::clamp<int64_t>(from_back(start), 0, length);
    end = std::clamp<int64_t>(from_back(end), 0, length);
    r.count = end > r.start ? (end - r.start + step - 1) / step : 0;
  } else {
    r.start = std::clamp<int64_t>(from_back(start), -1, length - 1);
    end = std::clamp<int64_t>(from_back(end), -1, length - 1);
    r.count = r.start > end ? (r.start - end - step - 1) / -step : 0;
  }
  return r;
}

struct Lists {
  std::vector<int64_t> starts, ends, axes, steps;
};

std::array<Range, Shape::max_rank> ranges(const Shape& shape, Lists lists) {
  const size_t n = lists.starts.size();
  if (lists.axes.empty()) {
    for (size_t i = 0; i < n; ++i) lists.axes.push_back(static_cast<int64_t>(i));
  }
  if (lists.steps.empty()) lists.steps.assign(n, 1);
  if (lists.ends.size() != n || lists.axes.size() != n || lists.steps.size() != n) {
    fail(Code::refused, n, " starts, ", lists.ends.size(), " ends, ", lists.axes.size(),
         " axes and ", lists.steps.size(), " steps: as many of each are wanted");
  }
  std::array<Range, Shape::max_rank> out;
  for (size_t d = 0; d < shape.rank(); ++d) out[d].count = shape[d];
  const auto axes = axes_of(lists.axes, shape.rank());
  for (size_t i = 0; i < n; ++i) {
    out[axes[i]] = range_of(lists.starts[i], lists.ends[i], lists.steps[i], shape[axes[i]]);
  }
  return out;
}

/// The shape of a slice of `shape` as inputs `first` to `first` + 3 say.
Shape sliced(const Infer& in, Shape shape, size_t first) {
  const auto r = ranges(shape, {ints_of(in, first), ints_of(in, first + 1),
                                ints_of(in, first + 2, {}), ints_of(in, first + 3, {})});
  for (size_t d = 0; d < shape.rank(); ++d) shape[d] = r[d].count;
  return shape;
}

/// Where the slice lies in something of `shape`.
Walk<1> walk_of(const Call& call, const Shape& shape, size_t first) {
  auto list = [&](size_t i) { return call.has(i) ? call.x(i).to_ints() : std::vector<int64_t>{}; };
  const auto r = ranges(shape, {list(first), list(first + 1), list(first + 2), list(first + 3)});
  Walk<1> walk{shape, {strides_of(shape)}};
  for (size_t d = 0; d < shape.rank(); ++d) {
    walk.shape[d] = r[d].count;
    walk.start[0] += r[d].start * walk.strides[0][d];
    walk.strides[0][d] *= r[d].step;
  }
  return walk;
}

std::vector<Spec> infer_slice(const Infer& in) {
  return {{in.in(0).dtype, sliced(in, in.in(0).shape, 1)}};
}

void forward_slice(const Call& call) {
  const Walk<1> walk = walk_of(call, call.x(0).shape(), 1);
  copy_strided(call.x(0), walk.start[0], walk.strides[0], call.y());
}

void grad_slice(Grad& g) {
  g.dx(0, apply("slice_grad", {g.dy(), g.x(0), g.x(1), g.x(2), g.x(3), g.x(4)}));
}

std::vector<Spec> infer_slice_grad(const Infer& in) {
  const Shape part = sliced(in, in.in(1).shape, 2);
  if (in.in(0).shape != part)
    fail(Code::refused, "the gradient is ", in.in(0).str(), ", wanted ", part.str());
  return {{in.in(0).dtype, in.in(1).shape}};
}

void forward_slice_grad(const Call& call) {
  Tensor& y = call.y();
  std::fill_n(y.data<std::byte>(), y.bytes(), std::byte{0});
  const Walk<1> walk = walk_of(call, y.shape(), 2);
  dispatch_size(y.dtype(), [&]<class T>() {
    const T* from = call.x(0).data<T>();
    T* to = y.data<T>();
    each_row(walk, [&](int64_t row, int64_t n, auto at, auto step) {
      for (int64_t i = 0; i < n; ++i) to[at[0] + i * step[0]] = from[row + i];
    });
  });
}

void grad_slice_grad(Grad& g) { g.dx(0, apply("slice", {g.dy(), g.x(2), g.x(3), g.x(4), g.x(5)})); }

// ---- import rules ----

void onnx_slice(ImportNode& n) {
  const Var starts = ints_input(n, 1, "starts");
  const Var ends = ints_input(n, 2, "ends");
  if (!starts || !ends) n.refuse("starts or ends are not given");
  n.out(0, apply("slice", {n.need(0), starts, ends, ints_input(n, 3, "axes"), n.in(4)}));
}

/// decrease_axis: dimensions (of 1 by then) that are dropped; a result of rank 0 is kept at [1].
void paddle_slice(ImportNode& n) {
  const Var starts = ints_slot(n, "StartsTensorList", "StartsTensor", "starts");
  const Var ends = ints_slot(n, "EndsTensorList", "EndsTensor", "ends");
  if (!starts || !ends) n.refuse("starts or ends are not given");
  const Var strides = ints_slot(n, "StridesTensorList", "StridesTensor", "strides");
  const auto drop = n.attrs.ints("decrease_axis");
  Var y = apply("slice", {n.need("Input"), starts, ends, ints(n, n.attrs.ints("axes")), strides});
  if (!drop.empty()) y = apply("squeeze", {y, ints(n, drop)});
  n.out("Out", y);
}

}  // namespace

extern const OpDef slice_op = {
    .name = "slice",
    .min_inputs = 3,
    .max_inputs = 5,
    .infer = infer_slice,
    .forward = forward_slice,
    .grad = grad_slice,
    .imports = {{"onnx:Slice", onnx_slice},
                {"paddle:slice", paddle_slice},
                {"paddle:strided_slice", paddle_slice}},
};

extern const OpDef slice_grad_op = {
    .name = "slice_grad",
    .min_inputs = 4,
    .max_inputs = 6,
    .spec_only = 0b10,
    .infer = infer_slice_grad,
    .forward = forward_slice_grad,
    .grad = grad_slice_grad,
    .settings = 0b10,
};

}  // namespace hub
