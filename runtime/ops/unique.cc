// unique(x) axis (all of x as one list when absent), sorted (1): the different elements, or slices
// along the axis, each once, in order or as they first appear; and, int64, where each appears
// first, which of them each element or slice is, and how often each appears. NaN sorts last and
// differs from itself.
#include <numeric>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const OpDef unique_op;

namespace {

/// Which slices of x stay (`first`), the place of each slice among them, how often each is there.
struct Groups {
  std::vector<int64_t> first, place, count;
};

template <class T>
int compare(T a, T b) {
  if constexpr (is_float<T>) {
    const wide_t<T> x = a, y = b;
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) && std::isnan(y) ? 0 : std::isnan(x) ? 1 : -1;
    return x < y ? -1 : x > y;
  } else {
    return a < b ? -1 : b < a;
  }
}

AxisView view_of(const Tensor& x, const Attrs& attrs) {
  if (!attrs.has("axis")) return AxisView(Shape{x.numel()}, 0);
  return AxisView(x.shape(), axis_of(attrs.i("axis"), x.shape().rank()));
}

Groups groups_of(const Tensor& x, const Attrs& attrs) {
  const AxisView v = view_of(x, attrs);
  const auto n = static_cast<size_t>(v.length);
  Groups g;
  g.place.resize(n);
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  dispatch(Everything{} + Types<std::string>{}, x.dtype(), [&]<class T>() {
    auto differ = [&](int64_t a, int64_t b) {
      for (int64_t o = 0; o < v.outer; ++o) {
        const T* at = x.data<T>() + o * v.length * v.inner;
        for (int64_t i = 0; i < v.inner; ++i)
          if (const int c = compare<T>(at[a * v.inner + i], at[b * v.inner + i])) return c;
      }
      return 0;
    };
    auto lone = [&](int64_t a) {
      if constexpr (is_float<T>) {
        for (int64_t i = 0; i < v.outer * v.inner; ++i) {
          const int64_t at = i / v.inner * v.length * v.inner + a * v.inner + i % v.inner;
          if (std::isnan(static_cast<wide_t<T>>(x.data<T>()[at]))) return true;
        }
      }
      return false;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return differ(a, b) < 0; });
    for (size_t i = 0; i < n; ++i) {
      if (i == 0 || lone(order[i]) || differ(order[i - 1], order[i]) != 0) {
        g.first.push_back(order[i]);
        g.count.push_back(0);
      }
      g.place[static_cast<size_t>(order[i])] = static_cast<int64_t>(g.first.size()) - 1;
      ++g.count.back();
    }
  });
  if (attrs.i("sorted", 1) != 0) return g;
  std::vector<size_t> by_first(g.first.size());
  std::iota(by_first.begin(), by_first.end(), size_t{0});
  std::sort(by_first.begin(), by_first.end(),
            [&](size_t a, size_t b) { return g.first[a] < g.first[b]; });
  Groups out = g;
  std::vector<int64_t> place(by_first.size());
  for (size_t k = 0; k < by_first.size(); ++k) {
    out.first[k] = g.first[by_first[k]];
    out.count[k] = g.count[by_first[k]];
    place[by_first[k]] = static_cast<int64_t>(k);
  }
  for (int64_t& p : out.place) p = place[static_cast<size_t>(p)];
  return out;
}

std::vector<Spec> infer_unique(const Infer& in) {
  check_type(in, 0, Everything{} + Types<std::string>{});
  Shape shape = in.in(0).shape;
  const size_t axis = in.attrs.has("axis") ? axis_of(in.attrs.i("axis"), shape.rank()) : 0;
  const Groups g = groups_of(in.value(0), in.attrs);
  const auto n = static_cast<int64_t>(g.first.size());
  if (in.attrs.has("axis")) {
    shape[axis] = n;
  } else {
    shape = {n};
  }
  const Spec each{DType::i64, {n}};
  return {
      {in.in(0).dtype, shape}, each, {DType::i64, {static_cast<int64_t>(g.place.size())}}, each};
}

void forward_unique(const Call& call) {
  const Tensor& x = call.x(0);
  const Groups g = groups_of(x, call.attrs);
  const AxisView v = view_of(x, call.attrs);
  if (call.wants(0)) {
    dispatch_size(x.dtype(), [&]<class T>() {
      T* y = call.y().data<T>();
      for (int64_t o = 0; o < v.outer; ++o)
        for (int64_t f : g.first)
          y = std::copy_n(x.data<T>() + (o * v.length + f) * v.inner, v.inner, y);
    });
  }
  size_t k = 0;
  for (const auto* list : {&g.first, &g.place, &g.count})
    if (call.wants(++k)) std::copy(list->begin(), list->end(), call.y(k).data<int64_t>());
}

/// Each element that stays was read from where it appears first.
void grad_unique(Grad& g) {
  if (!g.dy()) return;
  const Var first = g.y(1) ? g.y(1) : apply(unique_op, {g.x(0)}, g.attrs, 2)[1];
  if (g.attrs.has("axis"))
    return g.dx(0, apply("gather_grad", {first, g.dy(), g.x(0)}, {{"axis", g.attrs.i("axis")}}));
  g.dx(0, reshape_as(apply("gather_grad", {first, g.dy(), reshape(g.x(0), {-1})}), g.x(0)));
}

void onnx_unique(ImportNode& n) {
  const Vars y = apply(unique_op, {n.need(0)}, n.attrs, 4);
  for (size_t i = 0; i < 4; ++i) n.out(i, y[i]);
}

/// Unsorted ones, the first version of the operator, have Index for what Indices and Index are.
void paddle_unique(ImportNode& n) {
  const bool sorted = n.attrs.i("is_sorted", 0) != 0;
  Attrs attrs{{"sorted", int64_t{sorted}}};
  if (const auto axis = n.attrs.ints("axis"); !axis.empty()) attrs.set("axis", axis.at(0));
  const DType to = n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::i64;
  const Vars y = apply(unique_op, {n.need("X")}, attrs, 4);
  n.out("Out", y[0]);
  n.out("Indices", cast_to(y[1], to));
  n.out("Index", cast_to(y[2], to));
  n.out("Counts", cast_to(y[3], to));
}

}  // namespace

extern const OpDef unique_op = {
    .name = "unique",
    .outputs = 4,
    .infer = infer_unique,
    .forward = forward_unique,
    .grad = grad_unique,
    .strings = true,
    .imports = {{"paddle:unique", paddle_unique}, {"onnx:Unique", onnx_unique}}};

}  // namespace hub
