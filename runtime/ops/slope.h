// Gradient operators of elementwise functions: slope(v, dy) -> dx, element by element, where v is
// what the function took or gave.
#pragma once

#include "runtime/ops/grad.h"
#include "runtime/ops/kernel.h"

namespace hub {

inline std::vector<Spec> infer_slope(const Infer& in) {
  check_type(in, 0, Floats{});
  if (in.in(1) != in.in(0))
    fail(Code::refused, "the gradient is ", in.in(1).str(), ", wanted ", in.in(0).str());
  return {in.in(0)};
}

/// dx[i] = f(v[i], dy[i]), computed in wide_t.
template <class T, class F>
void map_slope(const Call& call, F f) {
  using W = wide_t<T>;
  const T* v = call.x(0).data<T>();
  const T* dy = call.x(1).data<T>();
  T* dx = call.y().data<T>();
  parallel(call.y().numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      dx[i] = static_cast<T>(f(static_cast<W>(v[i]), static_cast<W>(dy[i])));
  });
}
template <class F>
void map_slope(const Call& call, F f) {
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() { map_slope<T>(call, f); });
}

inline OpDef slope(std::string_view name, void (*forward)(const Call&), void (*grad)(Grad&),
                   std::string_view no_grad = {}) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_slope,
          .forward = forward,
          .grad = grad,
          .no_grad = no_grad,
          .in_place = {1}};
}

}  // namespace hub
