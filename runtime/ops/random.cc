// Numbers drawn anew in each run; with `seed` (an integer) the same in each, those that NumPy gives
// after random.seed(seed) for uniform numbers. `to` is a float type.
//   random_uniform(shape) low (0), high (1), to; random_normal(shape) mean (0), scale (1), to
//   bernoulli(p) to: 1 with probability p, else 0; multinomial(x) samples, to (int32): of each row
//   of logarithms of weights, places drawn by them.
#include "base/random.h"

#include <atomic>
#include <numbers>
#include <random>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// Mersenne twister as NumPy's RandomState has it.
class Source {
 public:
  explicit Source(const Attrs& attrs) : engine_(seed_of(attrs)) {}
  /// In [0, 1), 53 bits.
  double uniform() {
    const uint32_t a = engine_() >> 5, b = engine_() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static uint32_t seed_of(const Attrs& attrs) {
    if (attrs.has("seed")) {
      const auto seed = static_cast<uint64_t>(attrs.i("seed"));
      return static_cast<uint32_t>(seed >> 32 == 0 ? seed : splitmix64(seed));
    }
    static const uint64_t start = (uint64_t{std::random_device{}()} << 32) ^ std::random_device{}();
    static std::atomic<uint64_t> draws = 0;
    return static_cast<uint32_t>(splitmix64(start + draws++));
  }
  std::mt19937 engine_;
};

template <class T>
DType type_of(const Attrs& attrs, DType fallback, T types) {
  const DType to = attrs.has("to") ? dtype_named(attrs.s("to")) : fallback;
  if (!one_of_types(types, to)) fail(Code::unsupported, "random numbers as '", attrs.s("to"), "'");
  return to;
}

std::vector<Spec> infer_drawn(const Infer& in) {
  for (const char* name : {"low", "high", "mean", "scale"})
    if (!std::isfinite(in.attrs.f(name, 0))) fail(Code::refused, "'", name, "' is no number");
  if (in.attrs.has("seed")) in.attrs.i("seed");
  return {{type_of(in.attrs, DType::f32, Floats{}), Shape(ints_of(in, 0))}};
}

/// f(source, first, second) for each element.
template <class F>
void draw(const Call& call, std::string_view first, std::string_view second, F f) {
  const double a = call.attrs.f(first, 0), b = call.attrs.f(second, 1);
  Source source(call.attrs);
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    for (int64_t i = 0; i < call.y().numel(); ++i)
      call.y().data<T>()[i] = static_cast<T>(static_cast<wide_t<T>>(f(source, a, b)));
  });
}
void forward_uniform(const Call& call) {
  draw(call, "low", "high",
       [](Source& s, double low, double high) { return low + (high - low) * s.uniform(); });
}
void forward_normal(const Call& call) {
  draw(call, "mean", "scale",
       [](Source& s, double mean, double scale) { return mean + scale * s.normal(); });
}

std::vector<Spec> infer_bernoulli(const Infer& in) {
  check_type(in, 0, Floats{});
  return {{type_of(in.attrs, in.in(0).dtype, Everything{}), in.in(0).shape}};
}

void forward_bernoulli(const Call& call) {
  Source source(call.attrs);
  const auto p = call.x(0).to_floats();
  dispatch(Everything{}, call.y().dtype(), [&]<class T>() {
    for (size_t i = 0; i < p.size(); ++i)
      call.y().data<T>()[i] =
          convert<T>(source.uniform() < static_cast<double>(p[i]) ? 1.0F : 0.0F);
  });
}

std::vector<Spec> infer_multinomial(const Infer& in) {
  const Shape& x = real_input(in, 0, 2, 2).shape;
  const int64_t samples = in.attrs.i("samples", 1);
  if (samples < 0 || x[1] < 1) fail(Code::refused, samples, " samples of ", in.in(0).str());
  return {{type_of(in.attrs, DType::i32, Types<int32_t, int64_t>{}), {x[0], samples}}};
}

void forward_multinomial(const Call& call) {
  Source source(call.attrs);
  const auto x = call.x(0).to_floats();
  const auto n = static_cast<size_t>(call.x(0).shape()[1]);
  const int64_t samples = call.y().shape()[1];
  dispatch(Types<int32_t, int64_t>{}, call.y().dtype(), [&]<class T>() {
    T* y = call.y().data<T>();
    std::vector<double> sums(n);
    for (size_t row = 0; row < x.size(); row += n) {
      const float most = *std::max_element(x.begin() + row, x.begin() + row + n);
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sums[i] = sum += std::exp(double{x[row + i]} - most);
      for (int64_t k = 0; k < samples; ++k) {
        const auto at = std::upper_bound(sums.begin(), sums.end() - 1, source.uniform() * sum);
        *y++ = static_cast<T>(at - sums.begin());
      }
    }
  });
}

// ---- import rules ----

/// ONNX gives seeds as floats; the bits of one that is no integer serve as well.
void set_seed(const ImportNode& n, Attrs& attrs) {
  if (!n.attrs.has("seed")) return;
  const double seed = n.attrs.f("seed");
  attrs.set("seed", seed == std::floor(seed) && std::fabs(seed) < 0x1p52
                        ? static_cast<int64_t>(seed)
                        : std::bit_cast<int64_t>(seed));
}

/// RandomUniform, RandomNormal and those that look like their input.
void onnx_random(ImportNode& n) {
  const bool uniform = n.type.starts_with("RandomUniform");
  const bool like = n.type.ends_with("Like");
  Attrs attrs;
  for (const char* name : {"low", "high", "mean", "scale"})
    if (n.attrs.has(name)) attrs.set(name, n.attrs.f(name));
  if (n.attrs.has("dtype")) attrs.set("to", std::string(name_of(onnx_type(n, "dtype"))));
  set_seed(n, attrs);
  const Var shape = like ? apply("shape", {n.need(0)}) : ints(n, n.attrs.ints("shape"));
  const Var y = apply(uniform ? "random_uniform" : "random_normal", {shape}, attrs);
  n.out(0, like && !n.attrs.has("dtype") ? apply("cast", {y, n.need(0)}) : y);
}

void onnx_bernoulli(ImportNode& n) {
  Attrs attrs;
  if (n.attrs.has("dtype")) attrs.set("to", std::string(name_of(onnx_type(n, "dtype"))));
  set_seed(n, attrs);
  n.out(0, apply("bernoulli", {n.need(0)}, attrs));
}

void onnx_multinomial(ImportNode& n) {
  Attrs attrs{{"samples", n.attrs.i("sample_size", 1)}};
  if (n.attrs.has("dtype")) attrs.set("to", std::string(name_of(onnx_type(n, "dtype"))));
  set_seed(n, attrs);
  n.out(0, apply("multinomial", {n.need(0)}, attrs));
}

/// With a seed of its own Paddle draws numbers that only Paddle draws.
void paddle_normal(ImportNode& n) {
  const double deviation = n.attrs.f("std", 1);
  if (n.attrs.i("seed", 0) != 0 && deviation != 0)
    n.refuse("'seed' is ", n.attrs.i("seed"), ": Paddle's own numbers cannot be drawn");
  const Var shape = ints_slot(n, "ShapeTensorList", "ShapeTensor", "shape");
  if (!shape) n.refuse("no shape is given");
  const DType to = n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::f32;
  n.out("Out", apply("random_normal", {shape},
                     {{"mean", n.attrs.f("mean", 0)},
                      {"scale", deviation},
                      {"to", std::string(name_of(to))}}));
}

OpDef random(std::string_view name, std::vector<Spec> (*infer)(const Infer&),
             void (*forward)(const Call&), std::vector<Import> imports) {
  return {.name = name,
          .infer = infer,
          .forward = forward,
          .grad = zero_gradient,
          .random = true,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> random_ops = {
    random("random_uniform", infer_drawn, forward_uniform,
           {{"onnx:RandomUniform", onnx_random}, {"onnx:RandomUniformLike", onnx_random}}),
    random("random_normal", infer_drawn, forward_normal,
           {{"paddle:gaussian_random", paddle_normal},
            {"onnx:RandomNormal", onnx_random},
            {"onnx:RandomNormalLike", onnx_random}}),
    random("bernoulli", infer_bernoulli, forward_bernoulli, {{"onnx:Bernoulli", onnx_bernoulli}}),
    random("multinomial", infer_multinomial, forward_multinomial,
           {{"onnx:Multinomial", onnx_multinomial}}),
};

}  // namespace hub
