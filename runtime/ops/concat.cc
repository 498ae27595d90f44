// concat(x…) along `axis`; split(x, sizes?) along `axis` (0) into the sizes given or `count` equal
// parts, the last one smaller when it does not divide; one size of -1 is what is left.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const OpDef split_op;

namespace {

std::vector<Spec> infer_concat(const Infer& in) {
  Spec out = in.in(0);
  const size_t axis = axis_of(in.attrs.i("axis"), out.shape.rank());
  for (size_t i = 1; i < in.size(); ++i) {
    check_same_type(in, 0, i);
    Shape rest = in.in(i).shape;
    if (rest.rank() == out.shape.rank()) {
      const int64_t length = rest[axis];
      rest[axis] = out.shape[axis];
      if (rest == out.shape) {
        out.shape[axis] += length;
        continue;
      }
    }
    fail(Code::refused, "input ", i, " is ", in.in(i).str(), ", which cannot follow ",
         in.in(0).str(), " along axis ", axis);
  }
  return {out};
}

/// Elements of one step along the outer dimensions.
int64_t row_of(const Tensor& t, size_t axis) { return t.shape().numel(axis, t.shape().rank()); }

void forward_concat(const Call& call) {
  Tensor& y = call.y();
  const size_t axis = axis_of(call.attrs.i("axis"), y.shape().rank());
  const int64_t outer = y.shape().numel(0, axis);
  const int64_t y_row = row_of(y, axis);
  int64_t at = 0;
  for (const Tensor* x : call.in) {
    const int64_t row = row_of(*x, axis);
    for (int64_t o = 0; o < outer; ++o) copy_elements(*x, o * row, row, y, o * y_row + at);
    at += row;
  }
}

std::vector<int64_t> parts(int64_t length, const Attrs& attrs, std::vector<int64_t> sizes) {
  if (sizes.empty()) {
    const int64_t count = attrs.i("count");
    constexpr int64_t most = 1 << 16;
    if (count < 1 || count > std::min(std::max<int64_t>(length, 1), most))
      fail(Code::refused, length, " rows into ", count, " parts");
    const int64_t part = (length + count - 1) / count;
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(std::clamp<int64_t>(length - i * part, 0, part));
    return sizes;
  }
  int64_t left = length;
  int64_t* open = nullptr;
  for (int64_t& s : sizes) {
    if (s == -1 && open == nullptr) {
      open = &s;
    } else if (s < 0 || s > left) {
      fail(Code::refused, "a part of ", s, " where ", left, " of ", length, " rows are left");
    } else {
      left -= s;
    }
  }
  if (open != nullptr) {
    *open = left;
  } else if (left != 0) {
    fail(Code::refused, "the parts add up to ", length - left, " of ", length, " rows");
  }
  return sizes;
}

std::vector<Spec> infer_split(const Infer& in) {
  const Spec& x = in.in(0);
  const size_t axis = axis_of(in.attrs.i("axis", 0), x.shape.rank());
  std::vector<Spec> out;
  for (int64_t rows : parts(x.shape[axis], in.attrs, ints_of(in, 1, {}))) {
    out.push_back(x);
    out.back().shape[axis] = rows;
  }
  return out;
}

void forward_split(const Call& call) {
  const Tensor& x = call.x(0);
  const AxisView view(x.shape(), axis_of(call.attrs.i("axis", 0), x.shape().rank()));
  const auto sizes =
      parts(view.length, call.attrs, call.has(1) ? call.x(1).to_ints() : std::vector<int64_t>{});
  int64_t at = 0;
  for (size_t i = 0; i < call.out.size(); at += sizes[i++]) {
    if (call.out[i] == nullptr) continue;
    const int64_t row = sizes[i] * view.inner;
    for (int64_t o = 0; o < view.outer; ++o)
      copy_elements(x, (o * view.length + at) * view.inner, row, *call.out[i], o * row);
  }
}

// ---- gradients ----

void grad_concat(Grad& g) {
  const int64_t axis = g.attrs.i("axis");
  if (g.size() == 1) return g.dx(0, g.dy());
  Vars sizes;
  for (size_t i = 0; i < g.size(); ++i) sizes.push_back(length(g.x(i), axis));
  const Var all = apply("concat", sizes, {{"axis", int64_t{0}}});
  const Vars parts = apply(split_op, {g.dy(), all}, {{"axis", axis}}, g.size());
  for (size_t i = 0; i < g.size(); ++i) g.dx(i, parts[i]);
}

/// A part that nobody made is made again for its shape.
void grad_split(Grad& g) {
  const size_t count = g.outputs();
  Vars parts;
  for (size_t i = 0; i < count; ++i) parts.push_back(g.y(i));
  if (std::any_of(parts.begin(), parts.end(), [](Var v) { return !v; }))
    parts = apply(split_op, {g.x(0), g.x(1)}, g.attrs, count);
  for (size_t i = 0; i < count; ++i) parts[i] = g.dy(i) ? g.dy(i) : g.zeros(parts[i]);
  g.dx(0, apply("concat", parts, {{"axis", g.attrs.i("axis", 0)}}));
}

// ---- import rules ----

void onnx_concat(ImportNode& n) {
  n.out(0, apply("concat", n.positional_, {{"axis", n.attrs.i("axis", 1)}}));
}

void onnx_split(ImportNode& n) {
  Attrs attrs{{"axis", n.attrs.i("axis", 0)}};
  const Var sizes = ints_input(n, 1, "split");
  if (!sizes) attrs.set("count", n.attrs.i("num_outputs", static_cast<int64_t>(n.outputs())));
  const Vars parts = apply(split_op, {n.need(0), sizes}, attrs, n.outputs());
  for (size_t i = 0; i < parts.size(); ++i) n.out(i, parts[i]);
}

int64_t paddle_axis(ImportNode& n) {
  const Var given = n.in("AxisTensor");
  return given ? known_number(n, given).to_ints()[0] : n.attrs.i("axis", 0);
}

void paddle_concat(ImportNode& n) {
  n.need("X");
  n.out("Out", apply("concat", n.all("X"), {{"axis", paddle_axis(n)}}));
}

void paddle_split(ImportNode& n) {
  const auto sections = n.attrs.ints("sections");
  Attrs attrs{{"axis", paddle_axis(n)}};
  const size_t count = n.wanted("Out");
  if (sections.empty()) attrs.set("count", static_cast<int64_t>(count));
  n.out_all("Out", apply(split_op, {n.need("X"), sections.empty() ? Var{} : ints(n, sections)},
                         attrs, count));
}

void paddle_stack(ImportNode& n) {
  n.need("X");
  const int64_t axis = n.attrs.i("axis", 0);
  Vars all = n.all("X");
  for (Var& v : all) v = apply("unsqueeze", {v, ints(n, {axis})});
  n.out("Y", apply("concat", all, {{"axis", axis}}));
}

/// unstack and unbind, whose results are called Y and Out.
template <Literal slot>
void paddle_unstack(ImportNode& n) {
  const int64_t axis = n.attrs.i("axis", 0);
  const size_t count = n.wanted(slot.view());
  Vars all = apply(split_op, {n.need("X")},
                   {{"axis", axis}, {"count", static_cast<int64_t>(count)}}, count);
  for (Var& v : all) v = apply("squeeze", {v, ints(n, {axis})});
  n.out_all(slot.view(), all);
}

}  // namespace

extern const OpDef concat_op = {
    .name = "concat",
    .max_inputs = -1,
    .infer = infer_concat,
    .forward = forward_concat,
    .grad = grad_concat,
    .strings = true,
    .imports = {{"onnx:Concat", onnx_concat},
                {"paddle:concat", paddle_concat},
                {"paddle:stack", paddle_stack}},
};

extern const OpDef split_op = {
    .name = "split",
    .max_inputs = 2,
    .outputs = -1,
    .infer = infer_split,
    .forward = forward_split,
    .grad = grad_split,
    .strings = true,
    .imports = {{"onnx:Split", onnx_split},
                {"paddle:split", paddle_split},
                {"paddle:unstack", paddle_unstack<"Y">},
                {"paddle:unbind", paddle_unstack<"Out">}},
};

}  // namespace hub
