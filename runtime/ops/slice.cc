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

/// decrease_axis: dimensions (of 1 by then) that are dropped.
void paddle_slice(ImportNode& n) {
  const Var starts = ints_slot(n, "StartsTensorList", "StartsTensor", "starts");
  const Var ends = ints_slot(n, "EndsTensorList", "EndsTensor", "ends");
  if (!starts || !ends) n.refuse("starts or ends are not given");
  const Var strides = ints_slot(n, "StridesTensorList", "StridesTensor", "strides");
  const auto drop = n.attrs.ints("decrease_axis");
  Var y = apply("slice", {n.need("Input"), starts, ends, ints(n, n.attrs.ints("axes")), strides});
  if (!drop.empty()) {
    y = apply("squeeze", {y, ints(n, drop)});
    const Value& from = n.program[n.need("Input").id];
    if (!paddle_rank_zero(n) && from.declared.dtype != DType::none &&
        from.declared.shape.rank() == drop.size())
      y = reshape(y, {1});
  }
  n.out("Out", y);
}

/// `shape` elements from `offsets` on; -1 takes all that are left.
void paddle_crop(ImportNode& n) {
  for (const char* slot : {"Shape", "ShapeTensor", "Offsets", "OffsetsTensor"})
    if (n.in(slot)) n.refuse(slot, " is computed");
  const auto shape = n.attrs.ints("shape");
  auto offsets = n.attrs.ints("offsets");
  if (offsets.empty()) offsets.assign(shape.size(), 0);
  if (offsets.size() != shape.size())
    n.refuse(offsets.size(), " offsets for ", shape.size(), " dimensions");
  std::vector<int64_t> ends;
  for (size_t d = 0; d < shape.size(); ++d)
    ends.push_back(shape[d] < 0 ? std::numeric_limits<int64_t>::max() : offsets[d] + shape[d]);
  n.out("Out", apply("slice", {n.need("X"), ints(n, offsets), ints(n, ends)}));
}

/// Steps of -1 from the last element to the first.
void paddle_flip(ImportNode& n) {
  const auto axes = n.attrs.ints("axis");
  auto all = [&](int64_t value) { return ints(n, std::vector<int64_t>(axes.size(), value)); };
  n.out("Out", apply("slice", {n.need("X"), all(-1), all(std::numeric_limits<int64_t>::min()),
                               ints(n, axes), all(-1)}));
}

/// The numbers of attribute `values` (since 2.5), or of the list for the type that is set.
Var values_to_set(ImportNode& n) {
  if (const Var given = n.in("ValueTensor")) return given;
  const DType dtype = n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::f32;
  return written_numbers(
      n, dtype,
      {"values", "fp32_values", "fp64_values", "int32_values", "int64_values", "bool_values"});
}

/// x with a slice of it replaced: what is placed by the indices of the elements that it had.
void paddle_set_value(ImportNode& n) {
  const Var x = n.need("Input");
  const auto drop = n.attrs.ints("decrease_axes");
  if (!n.attrs.ints("none_axes").empty()) n.refuse("'none_axes' adds dimensions");
  const Var count = reshape(apply("size", {x}), {});
  const Var places =
      apply("reshape", {apply("range", {constant(n.program, scalar_of(DType::i64, 0)), count,
                                        constant(n.program, scalar_of(DType::i64, 1))}),
                        apply("shape", {x})});
  const Var at =
      apply("slice", {places, ints_slot(n, "StartsTensorList", "", "starts"),
                      ints_slot(n, "EndsTensorList", "", "ends"), ints(n, n.attrs.ints("axes")),
                      ints_slot(n, "StepsTensorList", "", "steps")});
  Var value = values_to_set(n);
  if (!drop.empty() && shape_of(n, value).rank() + drop.size() <= shape_of(n, x).rank() &&
      shape_of(n, value).rank() > 0)
    value = apply("unsqueeze", {value, ints(n, drop)});
  value = apply("cast", {apply("expand", {value, apply("shape", {at})}), x});
  const Var flat =
      apply("scatter_elements", {reshape(x, {-1}), reshape(at, {-1}), reshape(value, {-1})});
  n.out("Out", apply("reshape", {flat, apply("shape", {x})}));
}

/// Frames of [N * seg_num, C, H, W]: of the first channels those of the frame before, of the next
/// ones those of the frame behind, zeros beyond the ends.
void paddle_temporal_shift(ImportNode& n) {
  const bool last = channels_last(n);
  const Var x = last ? channels_to_front(n.need("X"), 4) : n.need("X");
  const Shape declared = shape_of(n, n.need("X"));
  const int64_t channels = declared.rank() == 4 ? declared[last ? 3 : 1] : -1;
  if (channels < 0) n.refuse("the number of channels is not declared");
  const int64_t frames = n.attrs.i("seg_num");
  const auto ratio = static_cast<float>(n.attrs.f("shift_ratio", 0.25));
  const auto one = convert<int64_t>(static_cast<float>(channels) * ratio);
  const auto two = convert<int64_t>(static_cast<float>(channels) * 2 * ratio);
  const Var inner = apply("shape", {x}, {{"start", int64_t{1}}});
  const Var v = apply("reshape",
                      {x, apply("concat", {ints(n, {-1, frames}), inner}, {{"axis", int64_t{0}}})});
  auto part = [&](int64_t from, int64_t to, int64_t shift) {
    const Var p = apply("slice", {v, ints(n, {from, shift < 0 ? 1 : 0}),
                                  ints(n, {to, shift > 0 ? -1 : frames}), ints(n, {2, 1})});
    if (shift == 0) return p;
    return apply("pad", {p, ints(n, {0, shift > 0, 0, 0, 0, 0, shift < 0, 0, 0, 0})});
  };
  const Var y = apply("concat", {part(0, one, 1), part(one, two, -1), part(two, channels, 0)},
                      {{"axis", int64_t{2}}});
  const Var flat = apply("reshape", {y, apply("shape", {x})});
  n.out("Out", last ? channels_to_back(flat, 4) : flat);
}

/// Columns start_index to start_index + length of each, beside each other or added.
Vars partial(ImportNode& n) {
  Vars all = n.all("X");
  n.need("X");
  const int64_t start = n.attrs.i("start_index", 0);
  const int64_t length = n.attrs.i("length", -1);
  int64_t end = 0;
  if (length < 0 || __builtin_add_overflow(start, length, &end) || (start < 0 && end >= 0))
    end = std::numeric_limits<int64_t>::max();
  for (Var& v : all) v = apply("slice", {v, ints(n, {start}), ints(n, {end}), ints(n, {1})});
  return all;
}
void paddle_partial_concat(ImportNode& n) {
  n.out("Out", apply("concat", partial(n), {{"axis", int64_t{1}}}));
}
void paddle_partial_sum(ImportNode& n) {
  const Vars all = partial(n);
  Var sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) sum = add(sum, all[i]);
  n.out("Out", sum);
}

}  // namespace

extern const OpDef slice_op = {
    .name = "slice",
    .min_inputs = 3,
    .max_inputs = 5,
    .infer = infer_slice,
    .forward = forward_slice,
    .grad = grad_slice,
    .strings = true,
    .imports = {{"onnx:Slice", onnx_slice},
                {"paddle:slice", paddle_slice},
                {"paddle:strided_slice", paddle_slice},
                {"paddle:crop_tensor", paddle_crop},
                {"paddle:flip", paddle_flip},
                {"paddle:set_value", paddle_set_value},
                {"paddle:temporal_shift", paddle_temporal_shift},
                {"paddle:partial_concat", paddle_partial_concat},
                {"paddle:partial_sum", paddle_partial_sum}},
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
