// det(x): the determinants of the square matrices of the last two dimensions.
// det_grad(x, dy): dy times the cofactors, which is det(x) times the inverse turned over where
// there is one, and minor by minor where there is none.
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Matrix = std::vector<double>;

/// Turns a [n, n] into its upper triangle, applying the same steps to the rows of `beside` [n, n]
/// when it is given; gives the determinant.
double eliminate(Matrix& a, size_t n, Matrix* beside = nullptr) {
  double det = 1;
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0) return 0;
    if (pivot != c) {
      det = -det;
      std::swap_ranges(&a[c * n], &a[c * n] + n, &a[pivot * n]);
      if (beside != nullptr)
        std::swap_ranges(&(*beside)[c * n], &(*beside)[c * n] + n, &(*beside)[pivot * n]);
    }
    det *= a[c * n + c];
    for (size_t r = c + 1; r < n; ++r) {
      const double by = a[r * n + c] / a[c * n + c];
      for (size_t k = c; k < n; ++k) a[r * n + k] -= by * a[c * n + k];
      for (size_t k = 0; beside != nullptr && k < n; ++k)
        (*beside)[r * n + k] -= by * (*beside)[c * n + k];
    }
  }
  return det;
}

/// d det / d a.
Matrix cofactors(const Matrix& a, size_t n) {
  Matrix upper = a, inverse(n * n), out(n * n);
  for (size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  const double det = eliminate(upper, n, &inverse);
  if (det != 0) {
    for (size_t r = n; r-- > 0;) {
      for (size_t c = 0; c < n; ++c) {
        double v = inverse[r * n + c];
        for (size_t k = r + 1; k < n; ++k) v -= upper[r * n + k] * inverse[k * n + c];
        inverse[r * n + c] = v / upper[r * n + r];
        out[c * n + r] = det * inverse[r * n + c];
      }
    }
    return out;
  }
  Matrix minor;
  for (size_t r = 0; r < n; ++r) {
    for (size_t c = 0; c < n; ++c) {
      minor.clear();
      for (size_t i = 0; i < n * n; ++i)
        if (i / n != r && i % n != c) minor.push_back(a[i]);
      out[r * n + c] = ((r + c) % 2 == 0 ? 1 : -1) * eliminate(minor, n - 1);
    }
  }
  return out;
}

Shape matrices(const Infer& in) {
  const Shape& s = real_input(in, 0, 2).shape;
  if (s.back() != s[s.rank() - 2])
    fail(Code::refused, "input 0 is ", in.in(0).str(), ": square matrices are wanted");
  return Shape(std::span(s.begin(), s.rank() - 2));
}

std::vector<Spec> infer_det(const Infer& in) {
  const Shape batch = matrices(in);
  return {{in.in(0).dtype, batch}};
}

std::vector<Spec> infer_det_grad(const Infer& in) {
  need(in, 1, {in.in(0).dtype, matrices(in)});
  return {in.in(0)};
}

template <bool back>
void forward(const Call& call) {
  const auto n = static_cast<size_t>(call.x(0).shape().back());
  const int64_t count = (back ? call.x(1) : call.y()).numel();
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    for (int64_t b = 0; b < count; ++b) {
      const auto at = static_cast<size_t>(b) * n * n;
      const T* x = call.x(0).data<T>() + at;
      Matrix a(x, x + n * n);
      if constexpr (back) {
        const Matrix d = cofactors(a, n);
        for (size_t i = 0; i < n * n; ++i)
          call.y().data<T>()[at + i] = static_cast<T>(d[i]) * call.x(1).data<T>()[b];
      } else {
        call.y().data<T>()[b] = static_cast<T>(eliminate(a, n));
      }
    }
  });
}

void grad_det(Grad& g) { g.dx(0, apply("det_grad", {g.x(0), g.dy()})); }

}  // namespace

extern const std::vector<OpDef> det_ops = {
    {.name = "det",
     .infer = infer_det,
     .forward = widened<forward<false>>,
     .grad = grad_det,
     .imports = {{"onnx:Det", onnx_same<"det">}}},
    {.name = "det_grad",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_det_grad,
     .forward = widened<forward<true>>,
     .no_grad = "second derivatives of det are not written"}};

}  // namespace hub
