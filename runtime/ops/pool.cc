// Pooling over spatial windows: the largest, the mean or the p-norm of each.
//   pool(x) -> y, indices?   kind "max", "avg" or "lp" (with p); kernel, strides, pads, dilations,
//   ceil_mode, auto_pad, global, adaptive as in window.h; count_include_pad 1: a mean divides by
//   all of the window inside the declared pads. indices (max): int64, of the element in all of x,
//   counted by rows, or by columns within a picture if storage_order is 1.
#include <cmath>
#include <limits>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/pool_walk.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/window_import.h"

namespace hub {

extern const OpDef pool_op;

namespace {

std::vector<Spec> infer_pool(const Infer& infer) {
  const Spec& x = infer.in(0);
  const std::string kind = infer.attrs.s("kind");
  if (kind != "max" && kind != "avg" && kind != "lp")
    fail(Code::unsupported, "a pool of kind '", kind, "'");
  if (kind == "max") {
    check_type(infer, 0, Floats{} + Types<int8_t, uint8_t>{});
  } else {
    check_type(infer, 0, Floats{});
  }
  if (x.shape.rank() < 3) fail(Code::refused, "a pool over ", x.str(), "; [N, C, …] is wanted");
  Spec y{x.dtype, {x.shape[0], x.shape[1]}};
  for (int64_t n : pool_window(infer.attrs, spatial(x.shape)).out) y.shape.push_back(n);
  if (kind != "max") return {y};
  return {y, {DType::i64, y.shape}};
}

/// The offset of an element inside a picture when it is stored column by column.
int64_t by_columns(int64_t offset, std::span<const int64_t> dims) {
  int64_t result = 0;
  for (size_t d = dims.size(); d-- > 0 && offset > 0;) {
    int64_t stride = 1;
    for (size_t e = 0; e < d; ++e) stride *= dims[e];
    result += offset % dims[d] * stride;
    offset /= dims[d];
  }
  return result;
}

template <class T>
void max_pool(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const Window w = pool_window(call.attrs, spatial(shape));
  const bool columns = call.attrs.i("storage_order", 0) != 0;
  const int64_t planes = shape[0] * shape[1];
  const int64_t size = shape.numel(2, shape.rank());
  const int64_t out_size = call.y().shape().numel(2, shape.rank());
  const T* x = call.x(0).data<T>();
  int64_t* indices =
      call.out.size() > 1 && call.out[1] != nullptr ? call.y(1).data<int64_t>() : nullptr;
  each_window(w, spatial(shape), [&](int64_t index, const std::vector<int64_t>& covered, int64_t) {
    for (int64_t plane = 0; plane < planes; ++plane) {
      const T* from = x + plane * size;
      int64_t where = covered.empty() ? 0 : covered[0];
      T best = covered.empty() ? std::numeric_limits<T>::lowest() : from[where];
      for (int64_t c : covered) {
        if (from[c] > best) {
          best = from[c];
          where = c;
        }
      }
      call.y().data<T>()[plane * out_size + index] = best;
      if (indices != nullptr) {
        indices[plane * out_size + index] =
            plane * size + (columns ? by_columns(where, spatial(shape)) : where);
      }
    }
  });
}

template <class T>
void mean_pool(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const Window w = pool_window(call.attrs, spatial(shape));
  const bool padded = call.attrs.i("count_include_pad", 0) != 0;
  const bool norm = call.attrs.s("kind") == "lp";
  const auto p = static_cast<T>(call.attrs.f("p", 2));
  const int64_t planes = shape[0] * shape[1];
  const int64_t size = shape.numel(2, shape.rank());
  const int64_t out_size = call.y().shape().numel(2, shape.rank());
  each_window(w, spatial(shape),
              [&](int64_t index, const std::vector<int64_t>& covered, int64_t with_pads) {
                const int64_t count =
                    padded ? with_pads : std::max<int64_t>(static_cast<int64_t>(covered.size()), 1);
                for (int64_t plane = 0; plane < planes; ++plane) {
                  const T* from = call.x(0).data<T>() + plane * size;
                  T sum = 0;
                  for (int64_t c : covered) sum += norm ? std::pow(std::abs(from[c]), p) : from[c];
                  call.y().data<T>()[plane * out_size + index] =
                      norm ? std::pow(sum, 1 / p) : sum / static_cast<T>(count);
                }
              });
}

void forward_pool(const Call& call) {
  const bool max = call.attrs.s("kind") == "max";
  dispatch(Reals{} + Types<int8_t, uint8_t>{}, call.x(0).dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      if (!max) return mean_pool<T>(call);
    }
    max_pool<T>(call);
  });
}

void grad_pool(Grad& g) {
  if (g.dy()) g.dx(0, apply("pool_grad", {g.x(0), g.dy()}, g.attrs));
}

void onnx_pool(ImportNode& node) {
  Attrs attrs = onnx_window(node);
  const std::string& type = node.type;
  attrs.set("kind", std::string(type.find("Max") != type.npos  ? "max"
                                : type.find("Lp") != type.npos ? "lp"
                                                               : "avg"));
  for (const char* name : {"ceil_mode", "count_include_pad", "storage_order", "p"}) {
    if (node.attrs.has(name)) attrs.set(name, node.attrs.i(name));
  }
  if (type.starts_with("Global")) {
    attrs.set("global", int64_t{1});
  } else if (!attrs.has("kernel")) {
    fail(Code::refused, type, " node '", node.name, "': 'kernel_shape' is missing");
  }
  const size_t outputs = std::max<size_t>(node.outputs(), 1);
  const Vars y = apply(pool_op, {node.need(0)}, attrs, outputs);
  for (size_t i = 0; i < outputs; ++i) node.out(i, y[i]);
}

Attrs paddle_attrs(const ImportNode& node, int64_t rank) {
  const Attrs& from = node.attrs;
  Attrs attrs = paddle_window(node, rank);
  const std::string kind = from.s("pooling_type", "max");
  attrs.set("kind", kind.empty() ? "max" : kind);
  const bool with_index = node.type.ends_with("_with_index");
  if (attrs.s("kind") == "max" && from.i("adaptive", 0) != 0 && !with_index)
    node.refuse("it is adaptive, of which Paddle itself makes other windows for maxima");
  attrs.erase("dilations");
  const auto ksize = from.ints("ksize");
  const bool ones = std::all_of(ksize.begin(), ksize.end(), [](int64_t k) { return k == 1; });
  if (from.i("global_pooling", 0) != 0 || (from.i("adaptive", 0) != 0 && ones)) {
    attrs = {{"kind", attrs.s("kind")}, {"global", int64_t{1}}};
  } else if (from.i("adaptive", 0) != 0) {
    attrs = {{"kind", attrs.s("kind")}, {"adaptive", ksize}};
  } else {
    attrs.set("kernel", ksize);
    attrs.set("ceil_mode", from.i("ceil_mode", 0));
    attrs.set("count_include_pad", int64_t{from.i("exclusive", 1) == 0});
  }
  return attrs;
}

template <size_t rank>
void paddle_pool(ImportNode& node) {
  const Attrs attrs = paddle_attrs(node, rank);
  const Var x = node.need("X");
  if (!channels_last(node)) return node.out("Out", apply("pool", {x}, attrs));
  const Var y = apply("pool", {channels_to_front(x, rank + 2)}, attrs);
  node.out("Out", channels_to_back(y, rank + 2));
}

/// The mask says where in its own picture an element was.
template <size_t rank>
void paddle_pool_with_index(ImportNode& node) {
  const Var x = node.need("X");
  const Vars y = apply(pool_op, {x}, paddle_attrs(node, rank), 2);
  const Var picture = apply("reduce_prod", {apply("shape", {x}, {{"start", int64_t{2}}})});
  node.out("Out", y[0]);
  node.out("Mask", cast_to(apply("mod", {y[1], picture}), DType::i32));
}

}  // namespace

extern const OpDef pool_op = {
    .name = "pool",
    .outputs = 2,
    .infer = infer_pool,
    .forward = widened<forward_pool>,
    .grad = grad_pool,
    .imports = {{"onnx:MaxPool", onnx_pool},
                {"onnx:AveragePool", onnx_pool},
                {"onnx:LpPool", onnx_pool},
                {"onnx:GlobalMaxPool", onnx_pool},
                {"onnx:GlobalAveragePool", onnx_pool},
                {"onnx:GlobalLpPool", onnx_pool},
                {"paddle:pool2d", paddle_pool<2>},
                {"paddle:pool3d", paddle_pool<3>},
                {"paddle:max_pool2d_with_index", paddle_pool_with_index<2>},
                {"paddle:max_pool3d_with_index", paddle_pool_with_index<3>}}};

}  // namespace hub
