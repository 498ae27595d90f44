// Writing by index: a copy of x in which updates are placed; `reduction` "none", "add", "mul",
// "min" or "max" says how they join what is there, in the order of the indices.
//  scatter_elements(x, indices, updates): at updates' own place, with the index along `axis` (0)
//  replaced; scatter_nd(x, indices, updates): indices[…, k] name the first k dimensions.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/lod_import.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

void check_reduction(const Infer& in) {
  const auto how = in.attrs.s("reduction", "none");
  if (how != "none" && how != "add" && how != "mul" && how != "min" && how != "max") {
    fail(Code::unsupported, "reduction '", how, "'");
  }
  if (how != "none") check_type(in, 0, Numbers{});
}

/// Calls run.operator()<T>(join) with the function of the reduction; without one T only has the
/// size of `dtype`.
template <class Run>
void with_reduction(const Attrs& attrs, DType dtype, Run run) {
  const auto how = attrs.s("reduction", "none");
  if (how == "none")
    return dispatch_size(dtype, [&]<class T>() {
      run.template operator()<T>([](const T&, const T& b) { return b; });
    });
  dispatch(Numbers{}, dtype, [&]<class T>() {
    using W = wide_t<T>;
    using Sum = std::conditional_t<is_float<T>, W, uint64_t>;  // integers wrap
    const auto reduce = [&](auto join) { run.template operator()<T>(join); };
    if (how == "add")
      reduce([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) + static_cast<Sum>(b)); });
    if (how == "mul")
      reduce([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) * static_cast<Sum>(b)); });
    if (how == "min")
      reduce([](T a, T b) { return static_cast<W>(b) < static_cast<W>(a) ? b : a; });
    if (how == "max")
      reduce([](T a, T b) { return static_cast<W>(b) > static_cast<W>(a) ? b : a; });
  });
}

void copy_x(const Call& call) { copy_elements(call.x(0), 0, call.x(0).numel(), call.y(), 0); }

std::vector<Spec> infer_scatter_elements(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  check_same_type(in, 0, 2);
  check_reduction(in);
  check_inside(in, in.in(1).shape, axis_of(in.attrs.i("axis", 0), in.in(0).shape.rank()));
  if (in.in(1).shape != in.in(2).shape) {
    fail(Code::refused, "indices ", in.in(1).shape.str(), " and updates ", in.in(2).shape.str(),
         " differ in shape");
  }
  return {in.in(0)};
}

void forward_scatter_elements(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const size_t axis = axis_of(call.attrs.i("axis", 0), shape.rank());
  const auto rows = checked_indices(call.x(1), shape[axis]);
  const int64_t stride = strides_of(shape)[axis];
  copy_x(call);
  with_reduction(call.attrs, call.y().dtype(), [&]<class T>(auto join) {
    const T* from = call.x(2).data<T>();
    T* to = call.y().data<T>();
    each_element_beside(call.x(1).shape(), shape, axis, [&](int64_t i, int64_t at) {
      T& place = to[at + rows[i] * stride];
      place = join(place, from[i]);
    });
  });
}

std::vector<Spec> infer_scatter_nd(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  check_same_type(in, 0, 2);
  check_reduction(in);
  const Shape& to = in.in(0).shape;
  const Shape& at = in.in(1).shape;
  if (at.rank() == 0 || static_cast<size_t>(at.back()) > to.rank()) {
    fail(Code::refused, "indices ", at.str(), " into ", to.str());
  }
  Shape wanted;
  for (size_t d = 0; d + 1 < at.rank(); ++d) wanted.push_back(at[d]);
  for (auto d = static_cast<size_t>(at.back()); d < to.rank(); ++d) wanted.push_back(to[d]);
  if (in.in(2).shape != wanted)
    fail(Code::refused, "updates are ", in.in(2).shape.str(), ", wanted ", wanted.str());
  return {in.in(0)};
}

void forward_scatter_nd(const Call& call) {
  const Tuples tuples(call.x(1), call.x(0).shape(), 0);
  copy_x(call);
  with_reduction(call.attrs, call.y().dtype(), [&]<class T>(auto join) {
    const T* from = call.x(2).data<T>();
    T* to = call.y().data<T>();
    for (int64_t start : tuples.starts) {
      for (int64_t i = 0; i < tuples.slice; ++i) to[start + i] = join(to[start + i], *from++);
    }
  });
}

/// `gather` with attributes `at` reads what `scatter` writes. Where updates are placed one over the
/// other ("none") each gets the gradient of the place; equals of "min" and "max" share it.
void grad_scatter(Grad& g, std::string_view scatter, std::string_view gather, const Attrs& at) {
  const auto how = g.attrs.s("reduction", "none");
  const Var indices = g.x(1);
  auto scattered = [&](Var x, Var updates, const char* reduction) {
    Attrs attrs = at;
    attrs.set("reduction", reduction);
    return apply(scatter, {x, indices, updates}, attrs);
  };
  auto gathered = [&](Var x) { return apply(gather, {x, indices}, at); };
  if (how == "none") {
    g.dx(0, scattered(g.dy(), g.zeros(g.x(2)), "none"));
    g.dx(2, gathered(g.dy()));
  } else if (how == "add") {
    g.dx(0, g.dy());
    g.dx(2, gathered(g.dy()));
  } else if (how == "mul") {
    g.dx(0, scattered(g.dy(), g.x(2), "mul"));
    g.dx(2, div(gathered(mul(g.dy(), g.y())), g.x(2)));
  } else {
    const Var kept = apply("equal", {g.x(0), g.y()});
    const Var placed = apply("equal", {g.x(2), gathered(g.y())});
    const Var hits =
        scattered(apply("cast", {kept, g.dy()}), apply("cast", {placed, g.dy()}), "add");
    const Var share = div(g.dy(), hits);
    const Var zero = g.number(0, g.dy());
    g.dx(0, apply("where", {kept, share, zero}));
    g.dx(2, apply("where", {placed, gathered(share), zero}));
  }
}
void grad_scatter_elements(Grad& g) {
  grad_scatter(g, "scatter_elements", "gather_elements", {{"axis", g.attrs.i("axis", 0)}});
}
void grad_scatter_nd(Grad& g) { grad_scatter(g, "scatter_nd", "gather_nd", {}); }

// ---- import rules ----

/// Rows of X replaced; or, without `overwrite`, all those named emptied and the updates added.
void paddle_scatter(ImportNode& n) {
  const Var x = n.need("X");
  const Var updates = n.need("Updates");
  Var ids = n.need("Ids");
  if (shape_of(n, ids).rank() == 1) ids = apply("unsqueeze", {ids, ints(n, {-1})});
  if (n.attrs.i("overwrite", 1) != 0) return n.out("Out", apply("scatter_nd", {x, ids, updates}));
  const Var none = apply("expand", {scalar_like(n, updates, 0), apply("shape", {updates})});
  const Var emptied = apply("scatter_nd", {x, ids, none});
  n.out("Out", apply("scatter_nd", {emptied, ids, updates}, {{"reduction", "add"}}));
}

void paddle_scatter_nd_add(ImportNode& n) {
  n.out("Out", apply("scatter_nd", {n.need("X"), n.need("Index"), n.need("Updates")},
                     {{"reduction", "add"}}));
}

/// Its own rules and those of sequences, which are made of it.
std::vector<Import> nd_imports() {
  std::vector<Import> all = {{"onnx:ScatterND", onnx_same<"scatter_nd">},
                             {"paddle:scatter", paddle_scatter},
                             {"paddle:scatter_nd_add", paddle_scatter_nd_add}};
  all.insert(all.end(), lod_imports().begin(), lod_imports().end());
  return all;
}

void paddle_put_along_axis(ImportNode& n) {
  const std::string how = n.attrs.s("Reduce", "assign");
  if (n.attrs.i("Include_self", 1) == 0) n.refuse("'Include_self' is off");
  const char* reduction = how == "assign"                     ? "none"
                          : how == "add"                      ? "add"
                          : how == "mul" || how == "multiply" ? "mul"
                                                              : nullptr;
  if (reduction == nullptr) n.refuse("'Reduce' is '", how, "'");
  n.out("Result", apply("scatter_elements", {n.need("Input"), n.need("Index"), n.need("Value")},
                        {{"axis", n.attrs.i("Axis")}, {"reduction", reduction}}));
}

}  // namespace

extern const OpDef scatter_elements_op = {
    .name = "scatter_elements",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_scatter_elements,
    .forward = forward_scatter_elements,
    .grad = grad_scatter_elements,
    .strings = true,
    .imports = {{"onnx:ScatterElements", onnx_same<"scatter_elements">},
                {"onnx:Scatter", onnx_same<"scatter_elements">},
                {"paddle:put_along_axis", paddle_put_along_axis}},
};

extern const OpDef scatter_nd_op = {
    .name = "scatter_nd",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_scatter_nd,
    .forward = forward_scatter_nd,
    .grad = grad_scatter_nd,
    .strings = true,
    .imports = nd_imports(),
};

}  // namespace hub
