// slice(x, starts, ends, axes?, steps?): along each axis named (the first ones when axes is absent)
// every step-th element from start up to end, not included. Bounds count from the back when
// negative and are limited to the dimension.
#include <algorithm>
#include <limits>

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

std::vector<Spec> infer_slice(const Infer& in) {
  Spec out = in.in(0);
  const auto r =
      ranges(out.shape, {ints_of(in, 1), ints_of(in, 2), ints_of(in, 3, {}), ints_of(in, 4, {})});
  for (size_t d = 0; d < out.shape.rank(); ++d) out.shape[d] = r[d].count;
  return {out};
}

void forward_slice(const Call& call) {
  auto list = [&](size_t i) { return call.has(i) ? call.x(i).to_ints() : std::vector<int64_t>{}; };
  const Shape& shape = call.x(0).shape();
  const auto r = ranges(shape, {list(1), list(2), list(3), list(4)});
  Strides strides = strides_of(shape);
  int64_t start = 0;
  for (size_t d = 0; d < shape.rank(); ++d) {
    start += r[d].start * strides[d];
    strides[d] *= r[d].step;
  }
  copy_strided(call.x(0), start, strides, call.y());
}

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

const OpDef slice_op = {
    .name = "slice",
    .min_inputs = 3,
    .max_inputs = 5,
    .infer = infer_slice,
    .forward = forward_slice,
    .imports = {{"onnx:Slice", onnx_slice},
                {"paddle:slice", paddle_slice},
                {"paddle:strided_slice", paddle_slice}},
};

}  // namespace hub
