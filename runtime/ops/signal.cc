// Signals: dft(x, length?, axis?) axis (-2), inverse, onesided: the discrete Fourier transform of x
// […, n, …, 1 or 2] (real numbers, or pairs of real and imaginary part) along `axis`, cut or filled
// with zeros to `length`, as pairs; the inverse divides by the length, onesided gives length / 2 +
// 1 of them. dft_grad(dy, x, length?, axis?) -> dx. mel_weight_matrix(bins, length, rate, low,
// high) to: [length / 2 + 1, bins], triangles that fold frequencies into mel bins.
#include <complex>
#include <numbers>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/signal_import.h"

namespace hub {
namespace {

using Complex = std::complex<double>;

int64_t smallest_prime(int64_t n) {
  int64_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  return n % p == 0 ? p : n;
}
int64_t largest_prime(int64_t n) {
  int64_t p = 1;
  for (; n > 1; n /= p) p = smallest_prime(n);
  return p;
}

/// The transform of any length, its prime factors one after the other (Cooley and Tukey).
class Transform {
 public:
  Transform(int64_t n, bool inverse) : roots_(static_cast<size_t>(n)), out_(roots_.size()), n_(n) {
    const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) roots_[i] = std::polar(1.0, turn * static_cast<double>(i));
  }
  const std::vector<Complex>& operator()(const std::vector<Complex>& in) {
    step(in.data(), 1, out_.data(), n_);
    return out_;
  }

 private:
  void step(const Complex* in, int64_t stride, Complex* out, int64_t n) {
    if (n == 1) {
      *out = *in;
      return;
    }
    const int64_t p = smallest_prime(n);
    const int64_t m = n / p;
    for (int64_t r = 0; r < p; ++r) step(in + r * stride, stride * p, out + r * m, m);
    std::vector<Complex> part(static_cast<size_t>(p));
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t r = 0; r < p; ++r) part[r] = out[r * m + k] * roots_[r * k % n * (n_ / n)];
      for (int64_t q = 0; q < p; ++q) {
        Complex sum = 0;
        for (int64_t r = 0; r < p; ++r) sum += part[r] * roots_[r * q % p * (n_ / p)];
        out[q * m + k] = sum;
      }
    }
  }

  std::vector<Complex> roots_, out_;
  int64_t n_;
};

/// `value(i)` gives input i when it is there, else null; the length is number `at`, the axis
/// follows.
struct Dft {
  size_t axis;
  int64_t length, bins;
  bool inverse;

  template <class Value>
  Dft(const Attrs& attrs, const Shape& x, size_t at, Value value) {
    auto given = [&](size_t i, int64_t fallback) {
      const Tensor* t = value(i);
      if (t == nullptr) return fallback;
      if (t->numel() != 1)
        fail(Code::refused, "input ", i, " is ", t->spec().str(), ": one number is wanted");
      return t->to_ints()[0];
    };
    axis = axis_of(given(at + 1, attrs.i("axis", -2)), x.rank());
    length = given(at, x[axis]);
    bins = attrs.i("onesided", 0) != 0 ? length / 2 + 1 : length;
    inverse = attrs.i("inverse", 0) != 0;
  }
  Dft(const Infer& in, size_t x, size_t at)
      : Dft(in.attrs, in.in(x).shape, at,
            [&](size_t i) { return in.has(i) ? &in.value(i) : nullptr; }) {}
  Dft(const Call& call, size_t x, size_t at)
      : Dft(call.attrs, call.x(x).shape(), at,
            [&](size_t i) { return call.has(i) ? &call.x(i) : nullptr; }) {}
};

Spec transformed(const Infer& in, size_t at, size_t length_at) {
  Spec s = real_input(in, at, 2);
  if (s.shape.back() != 1 && s.shape.back() != 2)
    fail(Code::refused, "input ", at, " is ", s.str(), ": its last dimension must be 1 or 2");
  const Dft d(in, at, length_at);
  if (d.axis + 1 == s.shape.rank()) fail(Code::refused, "the transform of the last axis, ", d.axis);
  if (d.length < 1 || d.length > 1 << 24 || d.length * largest_prime(d.length) > int64_t{1} << 34)
    fail(Code::refused, "a transform of ", d.length, " numbers");
  if (d.inverse && d.bins != d.length) fail(Code::unsupported, "a onesided inverse transform");
  s.shape[d.axis] = d.bins;
  s.shape[s.shape.rank() - 1] = 2;
  return s;
}

std::vector<Spec> infer_dft(const Infer& in) { return {transformed(in, 0, 1)}; }

std::vector<Spec> infer_dft_grad(const Infer& in) {
  need(in, 0, transformed(in, 1, 2));
  return {in.in(1)};
}

/// Reads `from` lines of a tensor, transforms, and writes `to` of the result.
void transform_lines(const Tensor& in, Tensor& out, size_t axis, int64_t length, bool inverse,
                     double scale) {
  auto lines = [&](const Shape& s) {
    return AxisView(Shape{s.numel(0, axis), s[axis], s.numel(axis + 1, s.rank() - 1)}, 1);
  };
  const AxisView from = lines(in.shape()), to = lines(out.shape());
  const int64_t parts = in.shape().back(), out_parts = out.shape().back();
  const int64_t n = std::min(from.length, length), bins = std::min(to.length, length);
  Transform transform(length, inverse);
  std::vector<Complex> line(static_cast<size_t>(length));
  dispatch(Reals{}, in.dtype(), [&]<class T>() {
    std::fill_n(out.data<T>(), out.numel(), T(0));
    for (int64_t l = 0; l < from.outer * from.inner; ++l) {
      const int64_t o = l / from.inner, i = l % from.inner;
      for (int64_t k = 0; k < n; ++k) {
        const T* v = in.data<T>() + ((o * from.length + k) * from.inner + i) * parts;
        line[k] = {v[0], parts == 2 ? v[1] : T(0)};
      }
      const auto& y = transform(line);
      for (int64_t k = 0; k < bins; ++k) {
        T* v = out.data<T>() + ((o * to.length + k) * to.inner + i) * out_parts;
        v[0] = static_cast<T>(y[k].real() * scale);
        if (out_parts == 2) v[1] = static_cast<T>(y[k].imag() * scale);
      }
    }
  });
}

void forward_dft(const Call& call) {
  const Dft d(call, 0, 1);
  transform_lines(call.x(0), call.y(), d.axis, d.length, d.inverse,
                  d.inverse ? 1.0 / static_cast<double>(d.length) : 1);
}

/// The transform turned over is that of the other direction.
void forward_dft_grad(const Call& call) {
  const Dft d(call, 1, 2);
  transform_lines(call.x(0), call.y(), d.axis, d.length, !d.inverse,
                  d.inverse ? 1.0 / static_cast<double>(d.length) : 1);
}

void grad_dft(Grad& g) { g.dx(0, apply("dft_grad", {g.dy(), g.x(0), g.x(1), g.x(2)}, g.attrs)); }
void grad_dft_grad(Grad& g) {
  // What belongs to the imaginary part of a real x is dropped on the way.
  g.dx(0, apply("dft", {g.dy(), g.x(2), g.x(3)}, g.attrs));
}

// ---- mel_weight_matrix ----

double number(const Infer& in, size_t i) {
  check_type(in, i, Numbers{});
  if (in.in(i).shape.numel() != 1)
    fail(Code::refused, "input ", i, " is ", in.in(i).str(), ": one number is wanted");
  return static_cast<double>(in.value(i).to_floats()[0]);
}

/// Where each triangle begins, as bins of the spectrum; one more than two for each mel bin.
std::vector<int64_t> edges(int64_t bins, double length, double rate, double low, double high) {
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    const double edge = std::floor((length + 1) * hertz / rate);
    if (!(std::fabs(edge) < 1e15)) fail(Code::refused, "a mel band at ", hertz, " Hz of ", rate);
    out.push_back(static_cast<int64_t>(edge));
  }
  return out;
}

std::vector<Spec> infer_mel(const Infer& in) {
  const double bins = number(in, 0), length = number(in, 1), rate = number(in, 2),
               low = number(in, 3), high = number(in, 4);
  if (!(bins >= 1 && bins <= 1 << 20 && length >= 1 && length <= 1 << 28))
    fail(Code::refused, bins, " bins of a transform of ", length);
  if (!(rate > 0 && low >= 0 && high >= low && high <= rate))
    fail(Code::refused, "frequencies from ", low, " to ", high, " at a rate of ", rate);
  const DType to = dtype_named(in.attrs.s("to", "float32"));
  if (!one_of_types(Floats{}, to)) fail(Code::unsupported, "a matrix of ", in.attrs.s("to"));
  const auto half = static_cast<int64_t>(length) / 2 + 1;
  if (edges(static_cast<int64_t>(bins), length, rate, low, high).back() > half)
    fail(Code::refused, "the frequency ", high, " is above half the rate, ", rate);
  return {{to, {half, static_cast<int64_t>(bins)}}};
}

void forward_mel(const Call& call) {
  auto at = [&](size_t i) { return static_cast<double>(call.x(i).to_floats()[0]); };
  const int64_t bins = call.y().shape()[1], half = call.y().shape()[0];
  const auto edge = edges(bins, at(1), at(2), at(3), at(4));
  std::vector<double> y(static_cast<size_t>(call.y().numel()));
  auto put = [&](int64_t row, int64_t bin, double v) {
    if (row < half) y[static_cast<size_t>(row * bins + bin)] = v;
  };
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t low = edge[b], middle = edge[b + 1], high = edge[b + 2];
    if (low == middle) put(middle, b, 1);
    for (int64_t j = low; low < middle && j <= middle; ++j)
      put(j, b, static_cast<double>(j - low) / static_cast<double>(middle - low));
    for (int64_t j = middle; j < high; ++j)
      put(j, b, static_cast<double>(high - j) / static_cast<double>(high - middle));
  }
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    for (size_t i = 0; i < y.size(); ++i)
      call.y().data<T>()[i] = static_cast<T>(static_cast<wide_t<T>>(y[i]));
  });
}

}  // namespace

extern const std::vector<OpDef> signal_ops = {
    {.name = "dft",
     .max_inputs = 3,
     .infer = infer_dft,
     .forward = widened<forward_dft>,
     .grad = grad_dft,
     .imports = {{"onnx:DFT", onnx_dft},
                 {"onnx:STFT", onnx_stft},
                 {"onnx:HannWindow", onnx_window_function},
                 {"onnx:HammingWindow", onnx_window_function},
                 {"onnx:BlackmanWindow", onnx_window_function}}},
    {.name = "dft_grad",
     .min_inputs = 2,
     .max_inputs = 4,
     .spec_only = 0b10,
     .infer = infer_dft_grad,
     .forward = widened<forward_dft_grad>,
     .grad = grad_dft_grad,
     .settings = 0b10},
    {.name = "mel_weight_matrix",
     .min_inputs = 5,
     .max_inputs = 5,
     .infer = infer_mel,
     .forward = forward_mel,
     .settings = 0b11111,
     .imports = {{"onnx:MelWeightMatrix", onnx_mel_weight_matrix}}}};

}  // namespace hub
