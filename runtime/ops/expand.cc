// Repeating: expand(x, shape) broadcasts x and shape together; tile(x, repeats) lays copies side by
// side along each dimension; tile_grad(dy, like) adds up the copies of something shaped like
// `like`.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_expand(const Infer& in) {
  return {{in.in(0).dtype, broadcast(in.in(0).shape, Shape(ints_of(in, 1)))}};
}

void forward_expand(const Call& call) {
  copy_strided(call.x(0), 0, broadcast_strides(call.x(0).shape(), call.y().shape()), call.y());
}

std::vector<Spec> infer_tile(const Infer& in) {
  Spec out = in.in(0);
  const auto repeats = ints_of(in, 1);
  if (repeats.size() != out.shape.rank())
    fail(Code::refused, repeats.size(), " repeats for ", out.str());
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0 || __builtin_mul_overflow(out.shape[d], repeats[d], &out.shape[d])) {
      fail(Code::refused, "dimension ", d, " of ", in.in(0).str(), " ", repeats[d], " times");
    }
  }
  return {out};
}

void forward_tile(const Call& call) {
  // Seen with each dimension split into [repeats, length], a tile is a broadcast; one dimension
  // after the other keeps the rank below its limit.
  const Shape& from = call.x(0).shape();
  const Shape& to = call.y().shape();
  if (to.numel() == 0) return;
  Tensor done = call.x(0);
  for (size_t d = from.rank(); d-- > 0;) {
    const int64_t repeats = to[d] / from[d];
    if (repeats == 1) continue;
    const AxisView view(done.shape(), d);
    const Shape split{view.outer, repeats, view.length * view.inner};
    Tensor next(done.dtype(), split);
    copy_strided(done, 0, {view.length * view.inner, 0, 1}, next);
    Shape shape = done.shape();
    shape[d] = to[d];
    done = next.reshaped(shape);
  }
  copy_elements(done, 0, done.numel(), call.y(), 0);
}

void grad_expand(Grad& g) { g.dx(0, sum_to(g.dy(), g.x(0))); }
void grad_tile(Grad& g) { g.dx(0, apply("tile_grad", {g.dy(), g.x(0)})); }

std::vector<Spec> infer_tile_grad(const Infer& in) {
  check_type(in, 0, Floats{});
  const Shape& tiles = in.in(0).shape;
  const Shape& one = in.in(1).shape;
  bool fits = tiles.rank() == one.rank();
  for (size_t d = 0; fits && d < one.rank(); ++d)
    fits = one[d] == 0 ? tiles[d] == 0 : tiles[d] % one[d] == 0;
  if (!fits) fail(Code::refused, in.in(0).str(), " is not made of tiles of ", one.str());
  return {{in.in(0).dtype, one}};
}

void forward_tile_grad(const Call& call) {
  const Shape& from = call.x(0).shape();
  const Shape& to = call.y().shape();
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    std::vector<double> sums(static_cast<size_t>(to.numel()));
    const T* dy = call.x(0).data<T>();
    for (int64_t i = 0; i < from.numel(); ++i) {
      int64_t at = 0, left = i, stride = 1;
      for (size_t d = from.rank(); d-- > 0; left /= from[d]) {
        at += left % from[d] % to[d] * stride;
        stride *= to[d];
      }
      sums[static_cast<size_t>(at)] += static_cast<wide_t<T>>(dy[i]);
    }
    std::transform(sums.begin(), sums.end(), call.y().data<T>(),
                   [](double sum) { return convert<T>(sum); });
  });
}

void grad_tile_grad(Grad& g) {
  const Var repeats = div(apply("shape", {g.x(0)}), apply("shape", {g.x(1)}));
  g.dx(0, apply("tile", {g.dy(), repeats}));
}

// ---- import rules ----

/// Opset 1 took the number of tiles and one axis.
void onnx_tile(ImportNode& n) {
  if (n.version < 6) n.refuse("opset ", n.version, ", 6 or newer is supported");
  n.out(0, apply("tile", {n.need(0), n.need(1)}));
}

/// -1 keeps the dimension, as 1 does in a broadcast.
void paddle_expand(ImportNode& n) {
  auto shape = n.attrs.ints("shape");
  for (int64_t& d : shape) d = d == -1 ? 1 : d;
  n.attrs.set("shape", shape);
  const Var wanted = ints_slot(n, "expand_shapes_tensor", "Shape", "shape");
  n.out("Out", apply("expand", {n.need("X"), wanted}));
}
/// As Y, or as the attribute says.
void paddle_expand_as(ImportNode& n) {
  const Var y = n.in("Y");
  n.out("Out", apply("expand", {n.need("X"),
                                y ? apply("shape", {y}) : ints(n, n.attrs.ints("target_shape"))}));
}
void paddle_tile(ImportNode& n) {
  const Var repeats = ints_slot(n, "repeat_times_tensor", "RepeatTimes", "repeat_times");
  if (!repeats) n.refuse("no repeats are given");
  Var x = n.need("X");
  if (!repeats.constant()) return n.out("Out", apply("tile", {x, repeats}));
  // Dimensions of 1 are put in front of the shorter one.
  auto times = repeats.constant().to_ints();
  const size_t rank = shape_of(n, x).rank();
  if (times.size() < rank) times.insert(times.begin(), rank - times.size(), 1);
  std::vector<int64_t> front;
  for (size_t d = rank; d < times.size(); ++d) front.push_back(static_cast<int64_t>(d - rank));
  if (!front.empty()) x = apply("unsqueeze", {x, ints(n, front)});
  n.out("Out", apply("tile", {x, ints(n, times)}));
}
/// The first version of expand is a tile.
void paddle_expand_v1(ImportNode& n) {
  const Var repeats = ints_slot(n, "expand_times_tensor", "ExpandTimes", "expand_times");
  n.out("Out", apply("tile", {n.need("X"), repeats}));
}

}  // namespace

extern const OpDef expand_op = {
    .name = "expand",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_expand,
    .forward = forward_expand,
    .grad = grad_expand,
    .strings = true,
    .imports = {{"onnx:Expand", onnx_same<"expand">},
                {"paddle:expand_v2", paddle_expand},
                {"paddle:expand_as_v2", paddle_expand_as}},
};

extern const OpDef tile_op = {
    .name = "tile",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_tile,
    .forward = forward_tile,
    .grad = grad_tile,
    .strings = true,
    .imports = {{"onnx:Tile", onnx_tile},
                {"paddle:tile", paddle_tile},
                {"paddle:expand", paddle_expand_v1}},
};

extern const OpDef tile_grad_op = {
    .name = "tile_grad",
    .min_inputs = 2,
    .max_inputs = 2,
    .spec_only = 0b10,
    .infer = infer_tile_grad,
    .forward = forward_tile_grad,
    .grad = grad_tile_grad,
    .settings = 0b10,
};

}  // namespace hub
