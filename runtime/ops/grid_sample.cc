// grid_sample(x, grid) mode "linear", "nearest" or "cubic", padding_mode "zeros", "border" or
// "reflection", align_corners (0): x [N, C, spatial…] read at grid [N, to…, k], whose last
// dimension names a place by its last spatial dimension first, -1 to 1 from one end to the other.
// grid_sample_grad(x, grid, dy) -> dx, dgrid.
#include "runtime/ops/grid_sample.h"

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

enum class Padding { zeros, border, reflection };

struct Sampling {
  int taps;  ///< 1, 2 or 4 a dimension
  Padding padding;
  bool corners;

  explicit Sampling(const Attrs& attrs) : corners(attrs.i("align_corners", 0) != 0) {
    const std::string mode = attrs.s("mode", "linear");
    const std::string pad = attrs.s("padding_mode", "zeros");
    if (mode != "linear" && mode != "nearest" && mode != "cubic")
      fail(Code::unsupported, "mode is '", mode, "': 'linear', 'nearest' or 'cubic' is wanted");
    if (pad != "zeros" && pad != "border" && pad != "reflection")
      fail(Code::unsupported, "padding_mode is '", pad,
           "': 'zeros', 'border' or 'reflection' is wanted");
    taps = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
    padding = pad == "zeros"    ? Padding::zeros
              : pad == "border" ? Padding::border
                                : Padding::reflection;
  }
};

/// One element of a dimension that a place reads: -1 when it lies outside.
struct Tap {
  int64_t at;
  double weight, slope;  ///< of the weight, by the coordinate of the grid
};

/// Where an index outside of [0, n) is read.
int64_t inside(double index, int64_t n, const Sampling& how) {
  const auto last = static_cast<double>(n - 1);
  if (index >= 0 && index <= last) return static_cast<int64_t>(index);
  if (how.padding == Padding::zeros || !std::isfinite(index)) return -1;
  if (how.padding == Padding::reflection) {
    const double low = how.corners ? 0 : -0.5;
    const double range = how.corners ? last : last + 1;
    if (range <= 0) return 0;
    double over = std::fmod(std::fabs(index - low), 2 * range);
    if (over > range) over = 2 * range - over;
    index = std::nearbyint(over + low);
  }
  return static_cast<int64_t>(std::clamp(index, 0.0, last));
}

/// Keys' cubic with a = -0.75, for the distance d from a tap; and its slope.
void cubic(double d, double& weight, double& slope) {
  constexpr double a = -0.75;
  const double x = std::fabs(d);
  weight = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
  slope = (d < 0 ? -1 : 1) *
          (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : ((3 * x - 10) * x + 8) * a);
}

void find_taps(double place, int64_t n, const Sampling& how, Tap* taps) {
  const double stretch = (static_cast<double>(n) - (how.corners ? 1 : 0)) / 2;
  const double x = how.corners ? (place + 1) * stretch : (place + 1) * stretch - 0.5;
  if (how.taps == 1) {
    taps[0] = {inside(std::nearbyint(x), n, how), 1, 0};
    return;
  }
  const double first = std::floor(x) - (how.taps == 4 ? 1 : 0);
  for (int t = 0; t < how.taps; ++t) {
    const double d = x - (first + t);
    taps[t] = {inside(first + t, n, how), 1 - std::fabs(d), d < 0 ? 1.0 : -1.0};
    if (how.taps == 2 && t == 0) taps[t].slope = -1;
    if (how.taps == 4) cubic(d, taps[t].weight, taps[t].slope);
    taps[t].slope *= stretch;
  }
}

/// Each place reads taps^k elements.
struct Places {
  Sampling how;
  Shape dims;
  size_t rank;
  int64_t planes, size, places;

  Places(const Attrs& attrs, const Shape& x, const Shape& grid)
      : how(attrs),
        rank(x.rank() - 2),
        planes(x[1]),
        size(x.numel(2, x.rank())),
        places(grid.numel(1, grid.rank() - 1)) {
    for (int64_t d : spatial(x)) dims.push_back(d);
  }

  /// f(offset in a plane, weight, slopes by each of the grid's numbers) for each element that a
  /// place reads.
  template <class T, class F>
  void each(const T* grid, F f) const {
    std::array<std::array<Tap, 4>, Shape::max_rank> taps{};
    for (size_t d = 0; d < rank; ++d)
      find_taps(static_cast<double>(grid[rank - 1 - d]), dims[d], how, taps[d].data());
    std::array<int, Shape::max_rank> index{};
    for (;;) {
      int64_t at = 0;
      double weight = 1;
      for (size_t d = 0; d < rank && at >= 0; ++d) {
        const Tap& tap = taps[d][static_cast<size_t>(index[d])];
        at = tap.at < 0 ? -1 : at * dims[d] + tap.at;
        weight *= tap.weight;
      }
      if (at >= 0) {
        std::array<double, Shape::max_rank> slopes{};
        for (size_t d = 0; d < rank; ++d) {
          double slope = 1;
          for (size_t e = 0; e < rank; ++e) {
            const Tap& tap = taps[e][static_cast<size_t>(index[e])];
            slope *= e == d ? tap.slope : tap.weight;
          }
          slopes[rank - 1 - d] = slope;
        }
        f(at, weight, slopes);
      }
      size_t d = rank;
      for (; d > 0; --d) {
        if (++index[d - 1] < how.taps) break;
        index[d - 1] = 0;
      }
      if (d == 0) return;
    }
  }
};

Shape sampled(const Infer& in) {
  const Shape& x = real_input(in, 0, 3, 7).shape;
  const Shape& grid = in.in(1).shape;
  check_same_type(in, 0, 1);
  Sampling(in.attrs);
  const auto k = static_cast<int64_t>(x.rank()) - 2;
  if (grid.rank() != x.rank() || grid[0] != x[0] || grid.back() != k)
    fail(Code::refused, "the grid is ", in.in(1).str(), " for ", in.in(0).str());
  for (int64_t n : spatial(x))
    if (n == 0) fail(Code::refused, "nothing can be read from ", in.in(0).str());
  Shape y{x[0], x[1]};
  for (size_t d = 1; d + 1 < grid.rank(); ++d) y.push_back(grid[d]);
  return y;
}

std::vector<Spec> infer_grid_sample(const Infer& in) { return {{in.in(0).dtype, sampled(in)}}; }

std::vector<Spec> infer_grid_sample_grad(const Infer& in) {
  need(in, 2, {in.in(0).dtype, sampled(in)});
  return {in.in(0), in.in(1)};
}

void forward_grid_sample(const Call& call) {
  const Places p(call.attrs, call.x(0).shape(), call.x(1).shape());
  const int64_t pictures = call.x(0).shape()[0];
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    parallel(pictures * p.places, 64, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(static_cast<size_t>(p.planes));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / p.places;
        const T* x = call.x(0).data<T>() + n * p.planes * p.size;
        std::fill(sums.begin(), sums.end(), 0.0);
        p.each(call.x(1).data<T>() + i * static_cast<int64_t>(p.rank),
               [&](int64_t at, double weight, const auto&) {
                 for (int64_t c = 0; c < p.planes; ++c)
                   sums[static_cast<size_t>(c)] += weight * static_cast<double>(x[c * p.size + at]);
               });
        T* y = call.y().data<T>() + n * p.planes * p.places + i % p.places;
        for (int64_t c = 0; c < p.planes; ++c)
          y[c * p.places] = static_cast<T>(sums[static_cast<size_t>(c)]);
      }
    });
  });
}

void forward_grid_sample_grad(const Call& call) {
  const Places p(call.attrs, call.x(0).shape(), call.x(1).shape());
  const int64_t pictures = call.x(0).shape()[0];
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    if (call.wants(0)) std::fill_n(call.y().data<T>(), call.y().numel(), T(0));
    for (int64_t i = 0; i < pictures * p.places; ++i) {
      const int64_t plane = i / p.places * p.planes;
      const T* dy = call.x(2).data<T>() + plane * p.places + i % p.places;
      const T* x = call.x(0).data<T>() + plane * p.size;
      T* dx = call.wants(0) ? call.y().data<T>() + plane * p.size : nullptr;
      std::array<double, Shape::max_rank> sums{};
      const int64_t from = i * static_cast<int64_t>(p.rank);
      p.each(call.x(1).data<T>() + from, [&](int64_t at, double weight, const auto& slopes) {
        double along = 0;
        for (int64_t c = 0; c < p.planes; ++c) {
          if (dx != nullptr) dx[c * p.size + at] += static_cast<T>(weight * dy[c * p.places]);
          along += static_cast<double>(dy[c * p.places]) * x[c * p.size + at];
        }
        for (size_t d = 0; d < p.rank; ++d) sums[d] += slopes[d] * along;
      });
      if (!call.wants(1)) continue;
      for (size_t d = 0; d < p.rank; ++d)
        call.y(1).data<T>()[from + static_cast<int64_t>(d)] = static_cast<T>(sums[d]);
    }
  });
}

void grad_grid_sample(Grad& g) {
  const Vars d = apply(*find_op("grid_sample_grad"), {g.x(0), g.x(1), g.dy()}, g.attrs, 2);
  g.dx(0, d[0]);
  g.dx(1, d[1]);
}

/// Opset 16 says bilinear and bicubic.
void onnx_grid_sample(ImportNode& n) {
  Attrs attrs = n.attrs;
  const std::string mode = attrs.s("mode", "linear");
  if (mode == "bilinear") attrs.set("mode", "linear");
  if (mode == "bicubic") attrs.set("mode", "cubic");
  n.out(0, apply("grid_sample", {n.need(0), n.need(1)}, attrs));
}

void paddle_grid_sampler(ImportNode& n) {
  const std::string mode = n.attrs.s("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") n.refuse("'mode' is '", mode, "'");
  const Attrs attrs{{"mode", mode == "bilinear" ? "linear" : "nearest"},
                    {"padding_mode", n.attrs.s("padding_mode", "zeros")},
                    {"align_corners", n.attrs.i("align_corners", 1)}};
  n.out("Output", apply("grid_sample", {n.need("X"), n.need("Grid")}, attrs));
}

void paddle_affine_grid(ImportNode& n) {
  const Shape theta = shape_of(n, n.need("Theta"));
  if (theta.rank() != 3 || theta[1] < 2 || theta[1] > 3) n.refuse("its matrices are ", theta.str());
  const Var given = n.in("OutputShape");
  n.out("Output",
        affine_grid(n.need("Theta"), given ? given : ints(n, n.attrs.ints("output_shape")),
                    theta[1], n.attrs.i("align_corners", 1) != 0));
}

void onnx_affine_grid(ImportNode& n) {
  const Shape theta = shape_of(n, n.need(0));
  if (theta.rank() != 3 || theta[1] < 1 || theta[1] > 3) n.refuse("its matrices are ", theta.str());
  n.out(0, affine_grid(n.need(0), n.need(1), theta[1], n.attrs.i("align_corners", 0) != 0));
}

}  // namespace

Var affine_grid(Var theta, Var size, int64_t rank, bool align_corners) {
  const auto number = [&](double v) {
    return apply("cast", {constant(*theta.program, Tensor::scalar(static_cast<float>(v))), theta});
  };
  const Var dims = apply("gather", {cast_to(size, DType::i64), [&] {
                                      std::vector<int64_t> places;
                                      for (int64_t d = 0; d < rank; ++d) places.push_back(d + 2);
                                      return ints_of(theta, places);
                                    }()});
  const Attrs last{{"axis", int64_t{-1}}};
  const Var to = apply("concat", {dims, ints_of(theta, {1})}, {{"axis", int64_t{0}}});
  Vars places;  // the last dimension first, then ones
  for (int64_t d = rank; d-- > 0;) {
    const Var n = apply("cast", {reshape(apply("gather", {dims, ints_of(theta, {d})}), {}), theta});
    const Var i = apply("range", {number(0), n, number(1)});
    const Var less = sub(n, number(1));
    const Var at = align_corners ? sub(div(add(i, i), apply("max", {less, number(1)})),
                                       apply("min", {less, number(1)}))
                                 : div(sub(add(i, i), less), n);
    std::vector<int64_t> own(static_cast<size_t>(rank) + 1, 1);
    own[static_cast<size_t>(d)] = -1;
    places.push_back(apply("expand", {reshape(at, own), to}));
  }
  places.push_back(apply("expand", {number(1), to}));
  const Var flat = reshape(apply("concat", places, last), {-1, rank + 1});
  const Var grid = matmul(flat, theta, {}, false, true);
  const Var shape =
      apply("concat", {length(theta, 0), dims, ints_of(theta, {rank})}, {{"axis", int64_t{0}}});
  return apply("reshape", {grid, shape});
}

extern const std::vector<OpDef> grid_sample_ops = {
    {.name = "grid_sample",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_grid_sample,
     .forward = widened<forward_grid_sample>,
     .grad = grad_grid_sample,
     .imports = {{"paddle:grid_sampler", paddle_grid_sampler},
                 {"paddle:affine_grid", paddle_affine_grid},
                 {"onnx:GridSample", onnx_grid_sample},
                 {"onnx:AffineGrid", onnx_affine_grid}}},
    {.name = "grid_sample_grad",
     .min_inputs = 3,
     .max_inputs = 3,
     .outputs = 2,
     .infer = infer_grid_sample_grad,
     .forward = widened<forward_grid_sample_grad>,
     .no_grad = "second derivatives of grid_sample are not written"}};

}  // namespace hub
