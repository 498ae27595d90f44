// topk(x, k) -> values, int64 indices: the k greatest (`largest` 1, the default) or least along
// `axis` (-1), best first, the lower index first among equals. NaN counts as greater than any
// number.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const OpDef topk_op;

namespace {

std::vector<Spec> infer_topk(const Infer& in) {
  check_type(in, 0, Numbers{});
  if (in.in(1).shape.numel() != 1)
    fail(Code::refused, "k is ", in.in(1).str(), ": one number is wanted");
  Spec out = in.in(0);
  const size_t axis = axis_of(in.attrs.i("axis", -1), out.shape.rank());
  const int64_t k = in.value(1).to_ints()[0];
  if (k < 0 || k > out.shape[axis]) fail(Code::refused, "the best ", k, " of ", out.shape[axis]);
  out.shape[axis] = k;
  return {out, {DType::i64, out.shape}};
}

/// A strict order over all values, NaN included.
template <class W>
bool above(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(b)) return false;
    if (std::isnan(a)) return true;
  }
  return a > b;
}

void forward_topk(const Call& call) {
  const Tensor& x = call.x(0);
  const size_t axis = axis_of(call.attrs.i("axis", -1), x.shape().rank());
  const AxisView view(x.shape(), axis);
  const int64_t k = call.x(1).to_ints()[0];
  const bool largest = call.attrs.i("largest", 1) != 0;
  dispatch(Numbers{}, x.dtype(), [&]<class T>() {
    using W = wide_t<T>;
    std::vector<W> row(static_cast<size_t>(view.length));
    std::vector<int64_t> order(row.size());
    for (int64_t at = 0; at < view.outer * view.inner; ++at) {
      const T* from = x.data<T>() + at / view.inner * view.length * view.inner + at % view.inner;
      for (int64_t i = 0; i < view.length; ++i) row[i] = static_cast<W>(from[i * view.inner]);
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        if (above(row[a], row[b])) return largest;
        if (above(row[b], row[a])) return !largest;
        return a < b;
      });
      const int64_t to = at / view.inner * k * view.inner + at % view.inner;
      for (int64_t i = 0; i < k; ++i) {
        if (call.wants(0)) call.y(0).data<T>()[to + i * view.inner] = from[order[i] * view.inner];
        if (call.wants(1)) call.y(1).data<int64_t>()[to + i * view.inner] = order[i];
      }
    }
  });
}

void grad_topk(Grad& g) {
  if (!g.dy(0)) return;
  const Var indices = g.y(1) ? g.y(1) : apply(topk_op, {g.x(0), g.x(1)}, g.attrs, 2)[1];
  g.dx(0, apply("scatter_elements", {g.zeros(g.x(0)), indices, g.dy(0)},
                {{"axis", g.attrs.i("axis", -1)}}));
}

// ---- import rules ----

void onnx_topk(ImportNode& n) {
  const Var k = ints_input(n, 1, "k");
  if (!k) n.refuse("k is not given");
  const Attrs attrs{{"axis", n.attrs.i("axis", -1)}, {"largest", n.attrs.i("largest", 1)}};
  const Vars y = apply(topk_op, {n.need(0), k}, attrs, 2);
  n.out(0, y[0]);
  n.out(1, y[1]);
}

void paddle_topk(ImportNode& n) {
  Var k = n.in("K");
  if (!k) k = ints(n, {n.attrs.i("k", 1)});
  const Attrs attrs{{"axis", n.attrs.i("axis", -1)}, {"largest", n.attrs.i("largest", 1)}};
  const Vars y = apply(topk_op, {n.need("X"), k}, attrs, 2);
  n.out("Out", y[0]);
  n.out("Indices", y[1]);
}

/// All of them, in order.
void paddle_argsort(ImportNode& n) {
  const Var x = n.need("X");
  const int64_t axis = n.attrs.i("axis", -1);
  const Var k = apply("gather", {apply("shape", {x}), ints(n, {axis})});
  const Attrs attrs{{"axis", axis}, {"largest", n.attrs.i("descending", 0)}};
  const Vars y = apply(topk_op, {x, k}, attrs, 2);
  n.out("Out", y[0]);
  n.out("Indices", y[1]);
}

}  // namespace

extern const OpDef topk_op = {
    .name = "topk",
    .min_inputs = 2,
    .max_inputs = 2,
    .outputs = 2,
    .infer = infer_topk,
    .forward = forward_topk,
    .grad = grad_topk,
    .imports = {{"onnx:TopK", onnx_topk},
                {"paddle:top_k", paddle_topk},
                {"paddle:top_k_v2", paddle_topk},
                {"paddle:argsort", paddle_argsort}},
};

}  // namespace hub
