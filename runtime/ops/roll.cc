// roll(x, shifts) axes: elements moved by so many places along each axis, those pushed over the end
// coming in at the beginning. Without axes all of x is moved as one list, by one shift.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_roll(const Infer& in) {
  const auto axes = in.attrs.ints("axes");
  axes_of(axes, in.in(0).shape.rank());
  const Spec& shifts = in.in(1);
  const auto wanted = static_cast<int64_t>(axes.empty() ? 1 : axes.size());
  if (shifts.dtype != DType::i64 || shifts.shape != Shape{wanted})
    fail(Code::refused, "shifts are ", shifts.str(), " for ", axes.size(), " axes");
  return {in.in(0)};
}

void forward_roll(const Call& call) {
  const auto listed = call.attrs.ints("axes");
  const Shape whole = call.x(0).shape();
  const Shape shape = listed.empty() ? Shape{whole.numel()} : whole;
  const auto axes = axes_of(listed.empty() ? std::vector<int64_t>{0} : listed, shape.rank());
  const int64_t* shifts = call.x(1).data<int64_t>();
  const Strides strides = strides_of(shape);
  Strides by{};
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t length = std::max<int64_t>(shape[axes[k]], 1);
    by[axes[k]] = ((shifts[k] % length) + length) % length;
  }
  dispatch_size(call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    for (int64_t i = 0; i < shape.numel(); ++i) {
      int64_t to = 0;
      for (size_t d = 0; d < shape.rank(); ++d)
        to += (i / strides[d] % shape[d] + by[d]) % shape[d] * strides[d];
      y[to] = x[i];
    }
  });
}

void grad_roll(Grad& g) { g.dx(0, apply("roll", {g.dy(), neg(g.x(1))}, g.attrs)); }

void paddle_roll(ImportNode& n) {
  const Var given = n.in("ShiftsTensor");
  const Var shifts = given ? cast_to(given, DType::i64) : ints(n, n.attrs.ints("shifts"));
  n.out("Out", apply("roll", {n.need("X"), shifts}, {{"axes", n.attrs.ints("axis")}}));
}

}  // namespace

extern const OpDef roll_op = {.name = "roll",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .infer = infer_roll,
                              .forward = forward_roll,
                              .grad = grad_roll,
                              .imports = {{"paddle:roll", paddle_roll}}};

}  // namespace hub
