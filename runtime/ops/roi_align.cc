// roi_align(x, boxes, pictures): each box [x1, y1, x2, y2] of x [N, C, H, W], in picture
// pictures[i], as output_height by output_width means (mode "avg") or maxima ("max") of
// sampling_ratio squared samples (0: as many as the box is large) read between elements. Boxes are
// scaled by spatial_scale, and moved by half an element if half_pixel is 1.
// roi_align_grad(x, boxes, pictures, dy) -> dx.
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr int64_t most_samples = 1 << 12;  // along one side of a bin

struct Settings {
  int64_t height, width, ratio;
  double scale, offset;
  bool max;

  explicit Settings(const Attrs& a)
      : height(a.i("output_height", 1)),
        width(a.i("output_width", 1)),
        ratio(a.i("sampling_ratio", 0)),
        scale(a.f("spatial_scale", 1)),
        offset(a.i("half_pixel", 1) != 0 ? 0.5 : 0),
        max(a.s("mode", "avg") == "max") {
    if (!max && a.s("mode", "avg") != "avg")
      fail(Code::unsupported, "mode is '", a.s("mode"), "': 'avg' or 'max' is wanted");
    if (height < 1 || width < 1 || height > 1 << 16 || width > 1 << 16)
      fail(Code::refused, "an output of ", height, " by ", width);
    if (ratio < 0 || ratio > most_samples) fail(Code::refused, "'sampling_ratio' is ", ratio);
  }
};

/// A sample is the weighted sum of two elements along each dimension; none when it lies outside.
struct Between {
  int64_t low = 0, high = 0;
  double w_low = 0, w_high = 0;

  Between(double at, int64_t n) {
    if (!(at >= -1 && at <= static_cast<double>(n))) return;
    at = std::max(at, 0.0);
    low = std::min(static_cast<int64_t>(at), n - 1);
    high = std::min(low + 1, n - 1);
    w_high = high == low ? 0 : at - static_cast<double>(low);
    w_low = 1 - w_high;
  }
};

/// The samples along one side of a box, bin by bin.
std::vector<std::vector<Between>> side(double from, double to, int64_t bins, int64_t n,
                                       const Settings& s) {
  from = from * s.scale - s.offset;
  to = to * s.scale - s.offset;
  double length = to - from;
  if (s.offset == 0) length = std::max(length, 1.0);
  const double bin = length / static_cast<double>(bins);
  int64_t samples = s.ratio;
  if (samples == 0) {
    const double enough = std::max(std::ceil(bin), 0.0);
    if (!(enough <= static_cast<double>(most_samples)))
      fail(Code::refused, "a box from ", from, " to ", to, " needs too many samples");
    samples = static_cast<int64_t>(enough);
  }
  if (bins * samples > 1 << 20) fail(Code::refused, bins, " bins of ", samples, " samples");
  std::vector<std::vector<Between>> out(static_cast<size_t>(bins));
  for (int64_t b = 0; b < bins; ++b)
    for (int64_t i = 0; i < samples; ++i)
      out[static_cast<size_t>(b)].emplace_back(
          from + bin * (static_cast<double>(b) +
                        (static_cast<double>(i) + 0.5) / static_cast<double>(samples)),
          n);
  return out;
}

Spec aligned(const Infer& in) {
  const Spec& x = real_input(in, 0, 4, 4);
  const Settings s(in.attrs);
  const Shape& boxes = real_input(in, 1, 2, 2).shape;
  if (boxes[1] != 4) fail(Code::refused, "boxes are ", in.in(1).str(), "; [n, 4] is wanted");
  check_type(in, 2, Types<int32_t, int64_t>{});
  if (in.in(2).shape != Shape{boxes[0]})
    fail(Code::refused, "pictures are ", in.in(2).str(), " for ", boxes[0], " boxes");
  if (x.shape[2] == 0 || x.shape[3] == 0) fail(Code::refused, "input 0 is ", x.str());
  return {x.dtype, {boxes[0], x.shape[1], s.height, s.width}};
}

std::vector<Spec> infer_roi_align(const Infer& in) { return {aligned(in)}; }

std::vector<Spec> infer_roi_align_grad(const Infer& in) {
  need(in, 3, aligned(in));
  return {in.in(0)};
}

/// f(output offset in a picture's plane, rows, columns) for each bin of box r; gives its picture.
template <class F>
int64_t each_bin(const Call& call, const Settings& s, int64_t r, F f) {
  const Shape& x = call.x(0).shape();
  const int64_t picture = call.x(2).to_ints()[static_cast<size_t>(r)];
  if (picture < 0 || picture >= x[0])
    fail(Code::refused, "box ", r, " is in picture ", picture, " of ", x[0]);
  std::array<double, 4> box{};
  dispatch(Reals{}, call.x(1).dtype(),
           [&]<class T>() { std::copy_n(call.x(1).data<T>() + 4 * r, 4, box.begin()); });
  const auto rows = side(box[1], box[3], s.height, x[2], s);
  const auto columns = side(box[0], box[2], s.width, x[3], s);
  for (int64_t i = 0; i < s.height * s.width; ++i)
    f(picture, i, rows[static_cast<size_t>(i / s.width)],
      columns[static_cast<size_t>(i % s.width)]);
  return picture;
}

/// f(offset, weight) for the four elements of a sample.
template <class F>
void corners(const Between& y, const Between& x, int64_t width, F f) {
  f(y.low * width + x.low, y.w_low * x.w_low);
  f(y.low * width + x.high, y.w_low * x.w_high);
  f(y.high * width + x.low, y.w_high * x.w_low);
  f(y.high * width + x.high, y.w_high * x.w_high);
}

/// The largest of the weighted corners of all samples, as ONNX has it: its offset and weight.
template <class T>
std::pair<int64_t, double> largest(const std::vector<Between>& rows,
                                   const std::vector<Between>& columns, int64_t width, const T* x) {
  std::pair<int64_t, double> best{-1, 0};
  double most = 0;
  for (const Between& y : rows)
    for (const Between& c : columns)
      corners(y, c, width, [&](int64_t at, double w) {
        if (best.first >= 0 && !(w * x[at] > most)) return;
        most = w * x[at];
        best = {at, w};
      });
  return best;
}

void forward_roi_align(const Call& call) {
  const Settings s(call.attrs);
  const Shape& shape = call.x(0).shape();
  const int64_t planes = shape[1], size = shape[2] * shape[3], bins = s.height * s.width;
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    for (int64_t r = 0; r < call.y().shape()[0]; ++r) {
      each_bin(call, s, r,
               [&](int64_t picture, int64_t bin, const auto& rows, const auto& columns) {
                 for (int64_t c = 0; c < planes; ++c) {
                   const T* x = call.x(0).data<T>() + (picture * planes + c) * size;
                   double sum = 0;
                   if (s.max) {
                     const auto [at, w] = largest(rows, columns, shape[3], x);
                     if (at >= 0) sum = w * x[at];
                   } else {
                     for (const Between& a : rows)
                       for (const Between& b : columns)
                         corners(a, b, shape[3], [&](int64_t at, double w) { sum += w * x[at]; });
                     sum /= static_cast<double>(std::max<size_t>(rows.size() * columns.size(), 1));
                   }
                   call.y().data<T>()[(r * planes + c) * bins + bin] = static_cast<T>(sum);
                 }
               });
    }
  });
}

void forward_roi_align_grad(const Call& call) {
  const Settings s(call.attrs);
  const Shape& shape = call.x(0).shape();
  const int64_t planes = shape[1], size = shape[2] * shape[3], bins = s.height * s.width;
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    std::fill_n(call.y().data<T>(), call.y().numel(), T(0));
    for (int64_t r = 0; r < call.x(1).shape()[0]; ++r) {
      each_bin(
          call, s, r, [&](int64_t picture, int64_t bin, const auto& rows, const auto& columns) {
            for (int64_t c = 0; c < planes; ++c) {
              const int64_t plane = (picture * planes + c) * size;
              const T dy = call.x(3).data<T>()[(r * planes + c) * bins + bin];
              T* dx = call.y().data<T>() + plane;
              if (s.max) {
                const auto [at, w] = largest(rows, columns, shape[3], call.x(0).data<T>() + plane);
                if (at >= 0) dx[at] += static_cast<T>(w) * dy;
                continue;
              }
              const auto count =
                  static_cast<double>(std::max<size_t>(rows.size() * columns.size(), 1));
              for (const Between& a : rows)
                for (const Between& b : columns)
                  corners(a, b, shape[3],
                          [&](int64_t at, double w) { dx[at] += static_cast<T>(w / count) * dy; });
            }
          });
    }
  });
}

void grad_roi_align(Grad& g) {
  g.dx(0, apply("roi_align_grad", {g.x(0), g.x(1), g.x(2), g.dy()}, g.attrs));
}

/// Before opset 16 nothing was moved by half an element.
void onnx_roi_align(ImportNode& n) {
  Attrs attrs = n.attrs;
  const std::string moved = n.attrs.s("coordinate_transformation_mode",
                                      n.version >= 16 ? "half_pixel" : "output_half_pixel");
  if (moved != "half_pixel" && moved != "output_half_pixel")
    n.refuse("coordinate_transformation_mode is '", moved, "'");
  attrs.erase("coordinate_transformation_mode");
  attrs.set("half_pixel", int64_t{moved == "half_pixel"});
  n.out(0, apply("roi_align", {n.need(0), n.need(1), n.need(2)}, attrs));
}

/// Paddle says how many boxes each picture has, or where those of each begin (a LoD).
void paddle_roi_align(ImportNode& n) {
  const Var boxes = n.need("ROIs");
  Var ends;
  if (const Var count = n.in("RoisNum")) {
    ends = apply("cumsum", {cast_to(count, DType::i64), ints(n, {0})});
  } else {
    ends = apply("slice",
                 {n.offsets("ROIs"), ints(n, {1}), ints(n, {std::numeric_limits<int64_t>::max()})});
  }
  auto number = [&](int64_t v) {
    return constant(n.program, scalar_of(DType::i64, static_cast<double>(v)));
  };
  const Var rows = apply("range", {number(0), reshape(length(boxes, 0), {}), number(1)});
  const Var behind = apply("greater_equal", {reshape(rows, {-1, 1}), ends});
  const Var pictures =
      apply("reduce_sum", {cast_to(behind, DType::i64), ints(n, {1})}, {{"keepdims", int64_t{0}}});
  const Attrs attrs{{"output_height", n.attrs.i("pooled_height", 1)},
                    {"output_width", n.attrs.i("pooled_width", 1)},
                    {"spatial_scale", n.attrs.f("spatial_scale", 1)},
                    {"sampling_ratio", std::max<int64_t>(n.attrs.i("sampling_ratio", -1), 0)},
                    {"half_pixel", n.attrs.i("aligned", 0)}};
  n.out("Out", apply("roi_align", {n.need("X"), boxes, pictures}, attrs));
}

}  // namespace

extern const std::vector<OpDef> roi_align_ops = {
    {.name = "roi_align",
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = infer_roi_align,
     .forward = widened<forward_roi_align>,
     .grad = grad_roi_align,
     .settings = 0b10,
     .imports = {{"onnx:RoiAlign", onnx_roi_align}, {"paddle:roi_align", paddle_roi_align}}},
    {.name = "roi_align_grad",
     .min_inputs = 4,
     .max_inputs = 4,
     .infer = infer_roi_align_grad,
     .forward = widened<forward_roi_align_grad>,
     .no_grad = "second derivatives of roi_align are not written",
     .settings = 0b10}};

}  // namespace hub
