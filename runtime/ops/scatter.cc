// Writing by index: a copy of x in which updates are placed; `reduction` "none", "add", "mul",
// "min" or "max" says how they join what is there, in the order of the indices.
//  scatter_elements(x, indices, updates): at updates' own place, with the index along `axis` (0)
//  replaced; scatter_nd(x, indices, updates): indices[…, k] name the first k dimensions.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/indices.h"
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

/// Calls run(join) with the function of the reduction for elements T.
template <class T, class Run>
void with_reduction(const Attrs& attrs, Run run) {
  using W = wide_t<T>;
  using Sum = std::conditional_t<is_float<T>, W, uint64_t>;  // integers wrap
  const auto how = attrs.s("reduction", "none");
  if (how == "add")
    return run([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) + static_cast<Sum>(b)); });
  if (how == "mul")
    return run([](T a, T b) { return static_cast<T>(static_cast<Sum>(a) * static_cast<Sum>(b)); });
  if (how == "min")
    return run([](T a, T b) { return static_cast<W>(b) < static_cast<W>(a) ? b : a; });
  if (how == "max")
    return run([](T a, T b) { return static_cast<W>(b) > static_cast<W>(a) ? b : a; });
  run([](T, T b) { return b; });
}

void copy_x(const Call& call) {
  std::copy_n(call.x(0).data<std::byte>(), call.x(0).bytes(), call.y().data<std::byte>());
}

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
  dispatch(Everything{}, call.y().dtype(), [&]<class T>() {
    const T* from = call.x(2).data<T>();
    T* to = call.y().data<T>();
    with_reduction<T>(call.attrs, [&](auto join) {
      each_element_beside(call.x(1).shape(), shape, axis, [&](int64_t i, int64_t at) {
        T& place = to[at + rows[i] * stride];
        place = join(place, from[i]);
      });
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
  dispatch(Everything{}, call.y().dtype(), [&]<class T>() {
    const T* from = call.x(2).data<T>();
    T* to = call.y().data<T>();
    with_reduction<T>(call.attrs, [&](auto join) {
      for (int64_t start : tuples.starts) {
        for (int64_t i = 0; i < tuples.slice; ++i) to[start + i] = join(to[start + i], *from++);
      }
    });
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

}  // namespace

extern const OpDef scatter_elements_op = {
    .name = "scatter_elements",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_scatter_elements,
    .forward = forward_scatter_elements,
    .grad = grad_scatter_elements,
    .imports = {{"onnx:ScatterElements", onnx_same<"scatter_elements">},
                {"onnx:Scatter", onnx_same<"scatter_elements">}},
};

extern const OpDef scatter_nd_op = {
    .name = "scatter_nd",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_scatter_nd,
    .forward = forward_scatter_nd,
    .grad = grad_scatter_nd,
    .imports = {{"onnx:ScatterND", onnx_same<"scatter_nd">}},
};

}  // namespace hub
