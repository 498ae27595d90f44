// max_unpool(x, indices, size) per_plane (0): the numbers of x put to where `indices` (int64, like
// x) says in zeros of [N, C, size…], counted over all of the result, or in each of its planes.
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_max_unpool(const Infer& in) {
  check_type(in, 0, Numbers{});
  const Shape& x = in.in(0).shape;
  if (x.rank() < 3) fail(Code::refused, "input 0 is ", in.in(0).str(), "; [N, C, …] is wanted");
  need(in, 1, {DType::i64, x});
  const auto size = ints_of(in, 2);
  if (size.size() + 2 != x.rank())
    fail(Code::refused, "a size of ", size.size(), " dimensions for ", in.in(0).str());
  Shape y{x[0], x[1]};
  for (int64_t n : size) {
    if (n < 0) fail(Code::refused, "the size is ", n);
    y.push_back(n);
  }
  return {{in.in(0).dtype, y}};
}

void forward_max_unpool(const Call& call) {
  const Shape& to = call.y().shape();
  const int64_t plane = to.numel(2, to.rank());
  const int64_t own = call.x(0).shape().numel(2, to.rank());
  const bool per_plane = call.attrs.i("per_plane", 0) != 0;
  const int64_t room = per_plane ? plane : call.y().numel();
  dispatch(Numbers{}, call.y().dtype(), [&]<class T>() {
    T* y = call.y().data<T>();
    std::fill_n(y, call.y().numel(), T(0));
    for (int64_t i = 0; i < call.x(0).numel(); ++i) {
      const int64_t at = call.x(1).data<int64_t>()[i];
      if (at < 0 || at >= room) fail(Code::refused, "index ", at, " for ", room, " elements");
      y[(per_plane ? i / own * plane : 0) + at] = call.x(0).data<T>()[i];
    }
  });
}

void grad_max_unpool(Grad& g) {
  Var from = reshape(g.dy(), {-1});
  if (g.attrs.i("per_plane", 0) == 0) return g.dx(0, apply("gather", {from, g.x(1)}));
  const Var flat = reshape(g.dy(), {0, 0, -1});
  const Var at = reshape(g.x(1), {0, 0, -1});
  g.dx(0, reshape_as(apply("gather_elements", {flat, at}, {{"axis", int64_t{2}}}), g.x(0)));
}

/// The indices count in the size that the window gives; a given output shape is larger and is
/// filled with zeros.
void onnx_max_unpool(ImportNode& n) {
  const Var x = n.need(0);
  auto kernel = n.attrs.ints("kernel_shape");
  const size_t rank = kernel.size();
  auto strides = n.attrs.ints("strides");
  auto pads = n.attrs.ints("pads");
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (rank == 0 || strides.size() != rank || pads.size() != 2 * rank)
    n.refuse("kernel_shape, strides and pads are for different numbers of dimensions");
  for (const auto* list : {&kernel, &strides, &pads})
    for (int64_t v : *list)
      if (v < 0 || v > INT32_MAX) n.refuse("its window holds ", v);
  std::vector<int64_t> more;
  for (size_t d = 0; d < rank; ++d)
    more.push_back(kernel[d] - strides[d] - pads[d] - pads[rank + d]);
  const Var size =
      add(mul(apply("shape", {x}, {{"start", int64_t{2}}}), ints(n, strides)), ints(n, more));
  Var y = apply("max_unpool", {x, n.need(1), size});
  if (const Var shape = n.in(2)) {
    const Var after = sub(shape, apply("shape", {y}));
    const Var before = ints(n, std::vector<int64_t>(rank + 2, 0));
    y = apply("pad", {y, apply("concat", {before, after}, {{"axis", int64_t{0}}})});
  }
  n.out(0, y);
}

}  // namespace

extern const OpDef max_unpool_op = {.name = "max_unpool",
                                    .min_inputs = 3,
                                    .max_inputs = 3,
                                    .infer = infer_max_unpool,
                                    .forward = forward_max_unpool,
                                    .grad = grad_max_unpool,
                                    .imports = {{"onnx:MaxUnpool", onnx_max_unpool}}};

}  // namespace hub
