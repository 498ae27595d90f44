// trilu(x, k?): each matrix of the last two dimensions with zeros below (`upper` 1, the default) or
// above its k-th diagonal.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_trilu(const Infer& in) {
  if (in.in(0).shape.rank() < 2)
    fail(Code::refused, "input 0 is ", in.in(0).str(), ": matrices are wanted");
  if (in.has(1) && in.in(1).shape.numel() != 1)
    fail(Code::refused, "k is ", in.in(1).str(), ": one number is wanted");
  return {in.in(0)};
}

void forward_trilu(const Call& call) {
  const Shape& shape = call.y().shape();
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape.back();
  const bool upper = call.attrs.i("upper", 1) != 0;
  const int64_t k = std::clamp(call.has(1) ? call.x(1).to_ints()[0] : 0, -rows - 1, columns + 1);
  dispatch_size(call.y().dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    const int64_t all_rows = shape.numel(0, shape.rank() - 1);
    for (int64_t r = 0; r < all_rows; ++r) {
      for (int64_t c = 0; c < columns; ++c, ++x, ++y) {
        const int64_t diagonal = c - r % rows;
        *y = (upper ? diagonal >= k : diagonal <= k) ? *x : T{0};
      }
    }
  });
}

void grad_trilu(Grad& g) { g.dx(0, apply("trilu", {g.dy(), g.x(1)}, g.attrs)); }

void paddle_tril_triu(ImportNode& n) {
  const int64_t upper = n.attrs.i("lower", 1) == 0;
  n.out("Out",
        apply("trilu", {n.need("X"), ints(n, {n.attrs.i("diagonal", 0)})}, {{"upper", upper}}));
}

}  // namespace

extern const OpDef trilu_op = {
    .name = "trilu",
    .max_inputs = 2,
    .infer = infer_trilu,
    .forward = forward_trilu,
    .grad = grad_trilu,
    .imports = {{"onnx:Trilu", onnx_same<"trilu">}, {"paddle:tril_triu", paddle_tril_triu}},
};

}  // namespace hub
