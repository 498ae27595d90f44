// pool_grad(x, dy) -> dx, with the attributes of the pool. The first of several largest elements
// gets a window's gradient; a mean divides as it did on the way forward.
#include <cmath>

#include "runtime/ops/list.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/pool_walk.h"

namespace hub {
namespace {

std::vector<Spec> infer_pool_grad(const Infer& infer) {
  real_input(infer, 0, 3);
  need(infer, 1, pool_op.infer(infer)[0]);
  return {infer.in(0)};
}

enum class Kind { max, avg, lp };

template <class T>
void spread(Kind kind, T p, const std::vector<int64_t>& covered, T count, T dy, const T* x, T* dx) {
  if (kind == Kind::avg) {
    for (int64_t c : covered) dx[c] += dy / count;
    return;
  }
  if (kind == Kind::max) {
    int64_t where = covered[0];
    for (int64_t c : covered) {
      if (x[c] > x[where]) where = c;
    }
    dx[where] += dy;
    return;
  }
  T sum = 0;
  for (int64_t c : covered) sum += std::pow(std::abs(x[c]), p);
  if (sum == 0) return;
  const T scale = dy * std::pow(sum, 1 / p - 1);
  for (int64_t c : covered) dx[c] += scale * std::copysign(std::pow(std::abs(x[c]), p - 1), x[c]);
}

void forward_pool_grad(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const Window w = pool_window(call.attrs, spatial(shape));
  const std::string name = call.attrs.s("kind");
  const Kind kind = name == "max" ? Kind::max : name == "avg" ? Kind::avg : Kind::lp;
  const bool padded = call.attrs.i("count_include_pad", 0) != 0;
  const int64_t size = shape.numel(2, shape.rank());
  const int64_t out_size = call.x(1).shape().numel(2, shape.rank());
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    const T* dy = call.x(1).data<T>();
    T* dx = call.y().data<T>();
    std::fill_n(dx, call.y().numel(), T{});
    each_window(w, spatial(shape),
                [&](int64_t index, const std::vector<int64_t>& covered, int64_t with_pads) {
                  if (covered.empty()) return;
                  const auto count =
                      static_cast<T>(padded ? with_pads : static_cast<int64_t>(covered.size()));
                  parallel(shape[0] * shape[1], 8, [&](int64_t begin, int64_t end) {
                    for (int64_t plane = begin; plane < end; ++plane) {
                      spread(kind, static_cast<T>(call.attrs.f("p", 2)), covered, count,
                             dy[plane * out_size + index], x + plane * size, dx + plane * size);
                    }
                  });
                });
  });
}

}  // namespace

extern const OpDef pool_grad_op = {.name = "pool_grad",
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .infer = infer_pool_grad,
                                   .forward = widened<forward_pool_grad>,
                                   .no_grad = "second derivatives of pool are not written"};

}  // namespace hub
