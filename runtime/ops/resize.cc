// resize(x, roi?, scales?, sizes?): by sizes when they are given, else by scales. Attributes as in
// ONNX Resize: mode, coordinate_transformation_mode, nearest_mode (also "simple": ceiling when an
// axis shrinks, else floor), cubic_coeff_a, exclude_outside, extrapolation_value, antialias, axes,
// keep_aspect_ratio_policy; and exact_ratio 1: scales only say how large the result is, coordinates
// go by the sizes.
#include <cmath>
#include <cstring>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/resize_axis.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

struct Plan {
  Shape out;
  std::vector<ResizeAxis> axes;  ///< those that change
};

/// What the numbers of the inputs say; `value(i)` gives those of input i, which is there when
/// `has(i)`.
template <class Has, class Value>
Plan plan(const Attrs& attrs, const Shape& x, Has has, Value value) {
  std::vector<int64_t> named = attrs.ints("axes");
  for (size_t d = 0; !attrs.has("axes") && d < x.rank(); ++d)
    named.push_back(static_cast<int64_t>(d));
  const auto axes = axes_of(named, x.rank());
  const bool crop = attrs.s("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  auto numbers = [&](size_t i, size_t count) {
    const auto v = value(i).to_floats();
    if (v.size() != count)
      fail(Code::refused, "input ", i, " holds ", v.size(), " numbers where ", count,
           " are wanted");
    for (float f : v) {
      if (!(std::fabs(f) < 1e6F)) fail(Code::refused, "input ", i, " holds ", f);
    }
    return v;
  };
  Plan p{x, {}};
  std::vector<float> roi;
  if (crop && has(1)) roi = numbers(1, 2 * axes.size());
  if (crop && roi.empty()) fail(Code::refused, "'tf_crop_and_resize' without a region");
  const bool by_sizes = has(3);
  if (!by_sizes && !has(2)) fail(Code::refused, "neither scales nor sizes are given");
  const auto scales = by_sizes ? std::vector<float>{} : numbers(2, axes.size());
  const auto sizes = by_sizes ? value(3).to_ints() : std::vector<int64_t>{};
  if (by_sizes && sizes.size() != axes.size()) {
    fail(Code::refused, "input 3 holds ", sizes.size(), " sizes where ", axes.size(),
         " are wanted");
  }
  const std::string policy = attrs.s("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; by_sizes && policy != "stretch" && i < axes.size(); ++i) {
    const double s =
        static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(x[axes[i]], 1));
    if (policy != "not_larger" && policy != "not_smaller") {
      fail(Code::unsupported, "'keep_aspect_ratio_policy' is '", policy, "'");
    }
    common = i == 0 ? s : policy == "not_larger" ? std::min(common, s) : std::max(common, s);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis a{.axis = axes[i], .in = x[axes[i]]};
    if (crop) {
      a.roi_begin = roi[i];
      a.roi_end = roi[axes.size() + i];
    }
    if (!by_sizes) {
      if (scales[i] <= 0) fail(Code::refused, "a scale of ", scales[i]);
      a.scale = scales[i];
      a.out = convert<int64_t>(static_cast<float>(a.in) * (crop ? a.roi_end - a.roi_begin : 1.0F) *
                               a.scale);
      if (attrs.i("exact_ratio", 0) != 0) a.scale = 0;
    } else if (common > 0) {
      a.scale = static_cast<float>(common);
      a.out = convert<int64_t>(std::floor(common * static_cast<double>(a.in) + 0.5));
    } else {
      a.out = sizes[i];
    }
    if (a.out < 0 || (a.in == 0 && a.out > 0))
      fail(Code::refused, "a size of ", a.out, " out of ", a.in);
    p.out[a.axis] = a.out;
    if (crop || a.out != a.in || (a.scale != 0 && a.scale != 1)) p.axes.push_back(a);
  }
  return p;
}

std::vector<Spec> infer_resize(const Infer& infer) {
  check_type(infer, 0, Numbers{});
  const Spec& x = infer.in(0);
  auto has = [&](size_t i) { return infer.has(i) && infer.in(i).shape.numel() > 0; };
  const Plan p =
      plan(infer.attrs, x.shape, has, [&](size_t i) -> const Tensor& { return infer.value(i); });
  const std::string mode = infer.attrs.s("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    fail(Code::unsupported, "'mode' is '", mode, "'");
  resize_table(infer.attrs, {.in = 1, .out = 1});  // refuses modes that do not exist
  return {{x.dtype, p.out}};
}

/// One axis of x; numbers between are kept as floats (doubles for wide integers).
template <class T>
void resize_one(const T* x, T* y, const AxisView& v, const ResizeTable& table, int64_t out) {
  for (int64_t o = 0; o < v.outer; ++o) {
    const T* from = x + o * v.length * v.inner;
    T* to = y + o * out * v.inner;
    for (int64_t i = 0; i < out; ++i) {
      T* line = to + i * v.inner;
      const auto at = static_cast<size_t>(i * table.taps);
      if (table.weight.empty()) {
        std::copy_n(from + table.index[at] * v.inner, v.inner, line);
        continue;
      }
      std::fill_n(line, v.inner, T{});
      for (size_t k = at; k < at + static_cast<size_t>(table.taps); ++k) {
        const auto w = static_cast<T>(table.weight[k]);
        const T* old = from + table.index[k] * v.inner;
        if (w != 0) {
          for (int64_t j = 0; j < v.inner; ++j) line[j] += w * old[j];
        }
      }
    }
  }
}

/// Every axis of the plan in turn, on elements of type T.
template <class T>
std::vector<T> resize_all(const Attrs& attrs, const Plan& p, Shape shape, std::vector<T> x) {
  for (const ResizeAxis& a : p.axes) {
    const AxisView v(shape, a.axis);
    shape[a.axis] = a.out;
    std::vector<T> y(static_cast<size_t>(shape.numel()));
    resize_one(x.data(), y.data(), v, resize_table(attrs, a), a.out);
    x.swap(y);
  }
  return x;
}

/// Elements whose coordinate lies outside the picture in any axis.
void fill_outside(const Attrs& attrs, const Plan& p, Tensor& y) {
  const double value = attrs.f("extrapolation_value", 0);
  for (const ResizeAxis& a : p.axes) {
    const ResizeTable table = resize_table(attrs, a);
    const AxisView v(y.shape(), a.axis);
    dispatch(Numbers{}, y.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < v.outer * v.length && !table.outside.empty(); ++i) {
        if (!table.outside[static_cast<size_t>(i % v.length)]) continue;
        std::fill_n(y.data<T>() + i * v.inner, v.inner, convert<T>(value));
      }
    });
  }
}

void forward_resize(const Call& call) {
  const Tensor& x = call.x(0);
  Tensor& y = call.y();
  auto has = [&](size_t i) { return call.has(i) && call.x(i).numel() > 0; };
  const Plan p =
      plan(call.attrs, x.shape(), has, [&](size_t i) -> const Tensor& { return call.x(i); });
  if (y.numel() == 0) return;
  auto run = [&]<class T, class W>() {
    std::vector<W> in(static_cast<size_t>(x.numel()));
    std::transform(x.data<T>(), x.data<T>() + x.numel(), in.begin(),
                   [](T v) { return static_cast<W>(v); });
    const auto out = resize_all<W>(call.attrs, p, x.shape(), std::move(in));
    std::transform(out.begin(), out.end(), y.data<T>(), [](W v) { return convert<T>(v); });
  };
  if (call.attrs.s("mode", "nearest") == "nearest") {
    dispatch_size(x.dtype(), [&]<class T>() {
      if constexpr (std::is_same_v<T, std::string>)
        fail(Code::unsupported, "not defined for strings");
      else
        run.template operator()<T, T>();
    });
  } else {
    dispatch(Numbers{}, x.dtype(), [&]<class T>() {
      using W = std::conditional_t<is_float<T>, wide_t<T>, double>;
      run.template operator()<T, W>();
    });
  }
  fill_outside(call.attrs, p, y);
}

void grad_resize(Grad& g) {
  g.dx(0, apply("resize_grad", {g.dy(), g.x(0), g.x(1), g.x(2), g.x(3)}, g.attrs));
}

/// resize_grad(dy, x, roi?, scales?, sizes?) -> dx: each new element gives its gradient back to the
/// old ones that made it. Of x only the shape matters.
std::vector<Spec> infer_grad(const Infer& infer) {
  auto has = [&](size_t i) { return infer.has(i + 1) && infer.in(i + 1).shape.numel() > 0; };
  const Spec& x = infer.in(1);
  const Plan p = plan(infer.attrs, x.shape, has,
                      [&](size_t i) -> const Tensor& { return infer.value(i + 1); });
  real_input(infer, 0);
  need(infer, 0, {x.dtype, p.out});
  return {x};
}

template <class T>
void resize_grad(const Call& call, const Plan& p) {
  Tensor masked = call.x(0).clone();
  Attrs outside = call.attrs;
  outside.set("extrapolation_value", 0.0);
  fill_outside(outside, p, masked);
  Shape shape = masked.shape();
  std::vector<T> dy(masked.data<T>(), masked.data<T>() + masked.numel());
  for (size_t k = p.axes.size(); k-- > 0;) {
    const ResizeAxis& a = p.axes[k];
    const ResizeTable table = resize_table(call.attrs, a);
    const AxisView v(shape, a.axis);
    shape[a.axis] = a.in;
    std::vector<T> dx(static_cast<size_t>(shape.numel()));
    parallel(v.outer, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t i = 0; i < v.length; ++i) {
          const T* from = dy.data() + (o * v.length + i) * v.inner;
          for (int64_t t = i * table.taps; t < (i + 1) * table.taps; ++t) {
            const auto at = static_cast<size_t>(t);
            const T w = table.weight.empty() ? T{1} : static_cast<T>(table.weight[at]);
            T* to = dx.data() + (o * a.in + table.index[at]) * v.inner;
            for (int64_t j = 0; w != 0 && j < v.inner; ++j) to[j] += w * from[j];
          }
        }
      }
    });
    dy.swap(dx);
  }
  std::copy(dy.begin(), dy.end(), call.y().data<T>());
}

void forward_grad(const Call& call) {
  auto has = [&](size_t i) { return call.has(i + 1) && call.x(i + 1).numel() > 0; };
  const Plan p = plan(call.attrs, call.y().shape(), has,
                      [&](size_t i) -> const Tensor& { return call.x(i + 1); });
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { resize_grad<T>(call, p); });
}

/// Opset 10 and Upsample knew scales only, and coordinates without offset.
void onnx_old(ImportNode& n, const char* nearest, size_t input) {
  Attrs attrs{{"mode", n.attrs.s("mode", "nearest")},
              {"coordinate_transformation_mode", "asymmetric"},
              {"nearest_mode", nearest}};
  if (attrs.s("mode") == "bilinear") attrs.set("mode", std::string("linear"));
  Var scales = n.in(input);
  if (!scales) {
    const auto list = n.attrs.floats("scales");
    const std::vector<float> values(list.begin(), list.end());
    scales = constant(n.program, Tensor::floats({static_cast<int64_t>(values.size())}, values));
  }
  n.out(0, apply("resize", {n.need(0), {}, scales}, attrs));
}
void onnx_upsample(ImportNode& n) { onnx_old(n, "floor", 1); }

void onnx_resize(ImportNode& n) {
  if (n.version < 11) return onnx_old(n, "simple", 1);
  Vars in{n.need(0)};
  for (size_t i = 1; i < 4; ++i) {
    const Var v = n.in(i);
    in.push_back(v && v.constant() && v.constant().numel() == 0 ? Var{} : v);
  }
  n.out(0, apply("resize", in, n.attrs));
}

/// The first version's attribute is one number.
std::vector<double> scales_of(const ImportNode& n) {
  const auto it = n.attrs.items().find("scale");
  if (it == n.attrs.items().end()) return {};
  if (const auto* one = std::get_if<double>(&it->second)) return {*one};
  return n.attrs.floats("scale");
}

/// Paddle's sizes come from SizeTensor, Scale, scale, out_d / out_h / out_w; OutSize beats them
/// all.
void paddle_interp(ImportNode& n) {
  const bool v2 = n.type.ends_with("_v2");
  const std::string kind = n.attrs.s("interp_method", n.type.substr(0, n.type.find("_interp")));
  const bool corners = n.attrs.i("align_corners", 1) != 0;
  const bool nearest = n.type.starts_with("nearest");
  const int64_t dims = n.type.starts_with("trilinear") ? 3 : n.type.starts_with("linear") ? 1 : 2;
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < dims; ++d) axes.push_back(d + (channels_last(n) ? 1 : 2));
  Attrs attrs{{"axes", axes}};
  attrs.set("mode", std::string(nearest                           ? "nearest"
                                : kind.find("cubic") != kind.npos ? "cubic"
                                                                  : "linear"));
  const bool shifted = !nearest && n.attrs.i("align_mode", 1) == 0;
  const bool cubic = attrs.s("mode") == "cubic";
  attrs.set("coordinate_transformation_mode", std::string(corners   ? "align_corners"
                                                          : cubic   ? "half_pixel"
                                                          : shifted ? "pytorch_half_pixel"
                                                                    : "asymmetric"));
  attrs.set("nearest_mode", std::string(corners ? "round_prefer_ceil" : "floor"));
  if (!v2 || corners) attrs.set("exact_ratio", int64_t{1});
  const Var x = n.need("X");
  auto by_sizes = [&](Var sizes) {
    n.out("Out", apply("resize", {x, {}, {}, apply("cast", {sizes}, {{"to", "int64"}})}, attrs));
  };
  if (const Var sizes = n.in("OutSize")) return by_sizes(sizes);
  if (n.in("SizeTensor")) return by_sizes(ints_slot(n, "SizeTensor", "", ""));
  Var scales = n.in("Scale");
  if (scales) {
    if (!v2 || !scales.constant() || scales.constant().numel() != dims) {
      scales = apply("expand", {scales, ints(n, {dims})});
    }
  } else if (auto list = scales_of(n); !list.empty() && list[0] > 0) {
    list.resize(static_cast<size_t>(dims), list[0]);
    const std::vector<float> values(list.begin(), list.end());
    scales = constant(n.program, Tensor::floats({dims}, values));
  }
  if (scales) return n.out("Out", apply("resize", {x, {}, scales}, attrs));
  std::vector<int64_t> sizes;
  for (const char* name : {"out_d", "out_h", "out_w"}) {
    if (std::string_view(name) == "out_d" && dims < 3) continue;
    if (std::string_view(name) == "out_h" && dims < 2) continue;
    sizes.push_back(n.attrs.i(name, -1));
    if (sizes.back() < 1) n.refuse("'", name, "' is ", sizes.back(), " and no scale is given");
  }
  by_sizes(ints(n, sizes));
}

}  // namespace

extern const OpDef resize_op = {.name = "resize",
                                .max_inputs = 4,
                                .infer = infer_resize,
                                .forward = forward_resize,
                                .grad = grad_resize,
                                .settings = 0b110,
                                .imports = {{"onnx:Resize", onnx_resize},
                                            {"onnx:Upsample", onnx_upsample},
                                            {"paddle:nearest_interp", paddle_interp},
                                            {"paddle:nearest_interp_v2", paddle_interp},
                                            {"paddle:bilinear_interp", paddle_interp},
                                            {"paddle:bilinear_interp_v2", paddle_interp},
                                            {"paddle:bicubic_interp_v2", paddle_interp},
                                            {"paddle:linear_interp_v2", paddle_interp},
                                            {"paddle:trilinear_interp_v2", paddle_interp}}};

extern const OpDef resize_grad_op = {.name = "resize_grad",
                                     .min_inputs = 2,
                                     .max_inputs = 5,
                                     .spec_only = 0b10,
                                     .infer = infer_grad,
                                     .forward = widened<forward_grad>,
                                     .no_grad = "second derivatives of resize are not written",
                                     .settings = 0b1110};

}  // namespace hub
