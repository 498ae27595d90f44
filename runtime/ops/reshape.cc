// The same elements in the same order under another shape:
//  reshape(x, shape): 0 copies the input's dimension (a real 0 with allowzero = 1), one -1 is what
//  is left over; squeeze(x, axes?): drops the axes named, or every dimension of 1; unsqueeze(x,
//  axes): axes of the result; flatten(x): two dimensions, split before `axis` (1); merge(x):
//  dimensions `start` to `stop` (both included, 0 and -1) become one; align(y, x): trailing
//  dimensions of 1 so that y's first dimension stands under dimension `axis` of x.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

void forward_same_bytes(const Call& call) {
  copy_elements(call.x(0), 0, call.x(0).numel(), call.y(), 0);
}

std::vector<Spec> infer_reshape(const Infer& in) {
  const Shape& from = in.in(0).shape;
  const auto wanted = ints_of(in, 1);
  const bool allow_zero = in.attrs.i("allowzero", 0) != 0;
  Shape to;
  size_t open = Shape::max_rank;
  for (int64_t d : wanted) {
    const size_t i = to.rank();
    if (d == 0 && !allow_zero) {
      if (i >= from.rank())
        fail(Code::refused, "dimension ", i, " of ", from.str(), " is to be copied, there is none");
      d = from[i];
    }
    if (d == -1 && open == Shape::max_rank) {
      open = i;
      d = 1;
    } else if (d < 0) {
      fail(Code::refused, "shape ", Shape(wanted).str(),
           ": at most one dimension may be left open");
    }
    to.push_back(d);
  }
  const int64_t known = to.numel();
  const int64_t total = from.numel();
  if (open != Shape::max_rank) {
    if (known == 0 || total % known != 0)
      fail(Code::refused, from.str(), " does not divide into ", Shape(wanted).str());
    to[open] = total / known;
  } else if (known != total) {
    fail(Code::refused, from.str(), " has ", total, " elements, ", to.str(), " has ", known);
  }
  return {{in.in(0).dtype, to}};
}

std::vector<Spec> infer_squeeze(const Infer& in) {
  const Shape& from = in.in(0).shape;
  std::array<bool, Shape::max_rank> drop{};
  if (in.has(1)) {
    for (size_t a : axes_of(ints_of(in, 1), from.rank())) {
      if (from[a] != 1) fail(Code::refused, "dimension ", a, " of ", from.str(), " is not 1");
      drop[a] = true;
    }
  } else {
    for (size_t d = 0; d < from.rank(); ++d) drop[d] = from[d] == 1;
  }
  Shape to;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (!drop[d]) to.push_back(from[d]);
  }
  return {{in.in(0).dtype, to}};
}

std::vector<Spec> infer_unsqueeze(const Infer& in) {
  const Shape& from = in.in(0).shape;
  const auto axes = ints_of(in, 1);
  const size_t rank = from.rank() + axes.size();
  if (rank > Shape::max_rank) fail(Code::unsupported, "a tensor of ", rank, " dimensions");
  std::array<bool, Shape::max_rank> added{};
  for (size_t a : axes_of(axes, rank)) added[a] = true;
  Shape to;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) to.push_back(added[d] ? 1 : from[next++]);
  return {{in.in(0).dtype, to}};
}

std::vector<Spec> infer_flatten(const Infer& in) {
  const Shape& from = in.in(0).shape;
  const auto rank = static_cast<int64_t>(from.rank());
  const int64_t axis = in.attrs.i("axis", 1);
  if (axis < -rank || axis > rank) fail(Code::refused, "axis ", axis, " of ", from.str());
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return {{in.in(0).dtype, {from.numel(0, at), from.numel(at, from.rank())}}};
}

std::vector<Spec> infer_merge(const Infer& in) {
  const Shape& from = in.in(0).shape;
  if (from.rank() == 0) return {{in.in(0).dtype, {1}}};
  const size_t start = axis_of(in.attrs.i("start", 0), from.rank());
  const size_t stop = axis_of(in.attrs.i("stop", -1), from.rank());
  if (stop < start)
    fail(Code::refused, "dimensions ", start, " to ", stop, " of ", from.str(), " to be merged");
  Shape to;
  for (size_t d = 0; d < start; ++d) to.push_back(from[d]);
  to.push_back(from.numel(start, stop + 1));
  for (size_t d = stop + 1; d < from.rank(); ++d) to.push_back(from[d]);
  return {{in.in(0).dtype, to}};
}

std::vector<Spec> infer_align(const Infer& in) {
  std::vector<int64_t> to = in.in(0).shape.vec();
  const size_t rank = in.in(1).shape.rank();
  const size_t room = rank - axis_of(in.attrs.i("axis"), rank);
  while (to.size() > room && to.back() == 1) to.pop_back();
  if (to.size() > room) {
    fail(Code::refused, in.in(0).str(), " does not fit under ", in.in(1).str(), " from dimension ",
         rank - room);
  }
  to.resize(room, 1);
  return {{in.in(0).dtype, Shape(to)}};
}

void grad_view(Grad& g) { g.dx(0, reshape_as(g.dy(), g.x(0))); }

// ---- import rules; Paddle's XShape outputs serve gradients only ----

void onnx_reshape(ImportNode& n) {
  const Var shape = ints_input(n, 1, "shape");
  if (!shape) n.refuse("no shape is given");
  n.out(0, apply("reshape", {n.need(0), shape}, {{"allowzero", n.attrs.i("allowzero", 0)}}));
}
void onnx_squeeze(ImportNode& n) {
  n.out(0, apply("squeeze", {n.need(0), ints_input(n, 1, "axes")}));
}
void onnx_unsqueeze(ImportNode& n) {
  const Var axes = ints_input(n, 1, "axes");
  if (!axes) n.refuse("no axes are given");
  n.out(0, apply("unsqueeze", {n.need(0), axes}));
}

void paddle_reshape(ImportNode& n) {
  const Var shape = ints_slot(n, "ShapeTensor", "Shape", "shape");
  if (!shape) n.refuse("no shape is given");
  n.out("Out", apply("reshape", {n.need("X"), shape}));
}
void paddle_squeeze(ImportNode& n) {
  // An empty list means every dimension of 1; those of another length stay.
  const Var x = n.need("X");
  const auto given = n.attrs.ints("axes");
  if (given.empty()) return n.out("Out", apply("squeeze", {x}));
  const Value& value = n.program[x.id];
  const Shape shape = value.constant ? value.constant.shape() : value.declared.shape;
  std::vector<int64_t> axes;
  for (int64_t axis : given) {
    const auto rank = static_cast<int64_t>(shape.rank());
    const bool known = axis < rank && axis >= -rank;
    const int64_t length = known ? shape[axis_of(axis, shape.rank())] : -1;
    if (length < 0 || length == 1) axes.push_back(axis);
  }
  n.out("Out", axes.empty() ? apply("identity", {x}) : apply("squeeze", {x, ints(n, axes)}));
}
void paddle_unsqueeze(ImportNode& n) {
  const Var axes = ints_slot(n, "AxesTensorList", "AxesTensor", "axes");
  if (!axes) n.refuse("no axes are given");
  n.out("Out", apply("unsqueeze", {n.need("X"), axes}));
}
void paddle_flatten(ImportNode& n) {
  n.out("Out", apply("flatten", {n.need("X")}, {{"axis", n.attrs.i("axis", 1)}}));
}
void paddle_flatten_range(ImportNode& n) {
  n.out("Out", apply("merge", {n.need("X")},
                     {{"start", n.attrs.i("start_axis", 1)}, {"stop", n.attrs.i("stop_axis", 1)}}));
}

OpDef view(std::string_view name, int min_inputs, int max_inputs,
           std::vector<Spec> (*infer)(const Infer&), std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .spec_only = name == "align" ? 0b10U : 0U,
          .infer = infer,
          .forward = forward_same_bytes,
          .grad = grad_view,
          .settings = name == "align" ? 0b10U : 0U,
          .strings = true,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> reshape_ops = {
    view("reshape", 2, 2, infer_reshape,
         {{"onnx:Reshape", onnx_reshape},
          {"paddle:reshape", paddle_reshape},
          {"paddle:reshape2", paddle_reshape}}),
    view("squeeze", 1, 2, infer_squeeze,
         {{"onnx:Squeeze", onnx_squeeze},
          {"paddle:squeeze", paddle_squeeze},
          {"paddle:squeeze2", paddle_squeeze}}),
    view("unsqueeze", 2, 2, infer_unsqueeze,
         {{"onnx:Unsqueeze", onnx_unsqueeze},
          {"paddle:unsqueeze", paddle_unsqueeze},
          {"paddle:unsqueeze2", paddle_unsqueeze}}),
    view("flatten", 1, 1, infer_flatten,
         {{"onnx:Flatten", onnx_same<"flatten">},
          {"paddle:flatten", paddle_flatten},
          {"paddle:flatten2", paddle_flatten}}),
    view("merge", 1, 1, infer_merge, {{"paddle:flatten_contiguous_range", paddle_flatten_range}}),
    view("align", 2, 2, infer_align, {}),
};

}  // namespace hub
