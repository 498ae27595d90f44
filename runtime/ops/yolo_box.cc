// yolo_box(x [N, anchors * (5 + classes), H, W], sizes int32 [N, 2]) -> boxes [N, n, 4], scores
// [N, n, classes]: what a head of YOLO v3 says of its n = anchors * H * W cells, in the pixels of
// images whose height and width `sizes` holds. anchors (pairs of width and height), class_num,
// conf_thresh (boxes below it are zeros, and so are their scores), downsample_ratio, clip_bbox,
// scale_x_y; with iou_aware the first `anchors` channels say how good a box is, of which the
// confidence takes the share iou_aware_factor.
#include <cmath>

#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const OpDef yolo_box_op;

namespace {

struct Head {
  int64_t anchors, classes, height, width;
  bool aware;
  Head(const Attrs& attrs, const Shape& x)
      : anchors(static_cast<int64_t>(attrs.ints("anchors").size()) / 2),
        classes(attrs.i("class_num")),
        height(x[2]),
        width(x[3]),
        aware(attrs.i("iou_aware", 0) != 0) {}
  int64_t cells() const { return height * width; }
  int64_t channels() const { return anchors * (5 + classes + (aware ? 1 : 0)); }
};

std::vector<Spec> infer_yolo_box(const Infer& in) {
  const Spec& x = in.in(0);
  check_type(in, 0, Reals{});
  if (x.shape.rank() != 4) fail(Code::refused, "x is ", x.str(), "; [N, C, H, W] is wanted");
  const auto anchors = in.attrs.ints("anchors");
  if (anchors.empty() || anchors.size() % 2 != 0 || in.attrs.i("class_num") < 1 ||
      in.attrs.i("class_num") > 1 << 20)
    fail(Code::refused, anchors.size(), " anchor sizes, ", in.attrs.i("class_num"), " classes");
  const Head head(in.attrs, x.shape);
  if (head.channels() != x.shape[1])
    fail(Code::refused, "x is ", x.str(), "; ", head.channels(), " channels are wanted");
  if (in.attrs.i("square_only", 0) != 0 && head.height != head.width)
    fail(Code::unsupported, "x is ", x.str(),
         "; the first versions of yolo_box are the same as later ones for squares only");
  need(in, 1, {DType::i32, {x.shape[0], 2}});
  const int64_t n = head.anchors * head.cells();
  return {{x.dtype, {x.shape[0], n, 4}}, {x.dtype, {x.shape[0], n, head.classes}}};
}

template <class T>
T sigmoid(T v) {
  return 1 / (1 + std::exp(-v));
}

template <class T>
void yolo_box(const Call& call) {
  const Head head(call.attrs, call.x(0).shape());
  const auto anchors = call.attrs.ints("anchors");
  const auto ratio = static_cast<T>(call.attrs.i("downsample_ratio", 32));
  const auto least = static_cast<T>(call.attrs.f("conf_thresh", 0.01));
  const auto scale = static_cast<T>(call.attrs.f("scale_x_y", 1));
  const auto share = static_cast<T>(call.attrs.f("iou_aware_factor", 0.5));
  const bool clips = call.attrs.i("clip_bbox", 1) != 0;
  const T bias = T{-0.5} * (scale - 1);
  const int64_t cells = head.cells();
  const int64_t count = head.anchors * cells;
  std::vector<T> boxes(static_cast<size_t>(call.x(0).shape()[0] * count * 4));
  std::vector<T> scores(static_cast<size_t>(call.x(0).shape()[0] * count * head.classes));
  for (int64_t i = 0; i < call.x(0).shape()[0] * count; ++i) {
    const int64_t image = i / count, anchor = i % count / cells, cell = i % cells;
    const T* all = call.x(0).data<T>() + image * head.channels() * cells + cell;
    const T* x = all + ((head.aware ? head.anchors : 0) + anchor * (5 + head.classes)) * cells;
    T confidence = sigmoid(x[4 * cells]);
    if (head.aware)
      confidence = std::pow(confidence, 1 - share) * std::pow(sigmoid(all[anchor * cells]), share);
    if (confidence < least) continue;
    const auto tall = static_cast<T>(call.x(1).data<int32_t>()[2 * image]);
    const auto wide = static_cast<T>(call.x(1).data<int32_t>()[2 * image + 1]);
    const auto columns = static_cast<T>(head.width), rows = static_cast<T>(head.height);
    const T cx =
        (static_cast<T>(cell % head.width) + sigmoid(x[0]) * scale + bias) * wide / columns;
    const T cy =
        (static_cast<T>(cell / head.width) + sigmoid(x[cells]) * scale + bias) * tall / rows;
    const auto a = static_cast<size_t>(2 * anchor);
    const T w = std::exp(x[2 * cells]) * static_cast<T>(anchors[a]) * wide / (ratio * columns);
    const T h = std::exp(x[3 * cells]) * static_cast<T>(anchors[a + 1]) * tall / (ratio * rows);
    T box[] = {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
    if (clips) {
      box[0] = std::max(box[0], T{0});
      box[1] = std::max(box[1], T{0});
      box[2] = std::min(box[2], wide - 1);
      box[3] = std::min(box[3], tall - 1);
    }
    std::copy_n(box, 4, boxes.begin() + i * 4);
    for (int64_t k = 0; k < head.classes; ++k)
      scores[static_cast<size_t>(i * head.classes + k)] = confidence * sigmoid(x[(5 + k) * cells]);
  }
  if (call.wants(0)) std::copy(boxes.begin(), boxes.end(), call.y(0).data<T>());
  if (call.wants(1)) std::copy(scores.begin(), scores.end(), call.y(1).data<T>());
}

void forward_yolo_box(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { yolo_box<T>(call); });
}

/// Before 2.0 the height of the grid stood for its width too.
void paddle_yolo_box(ImportNode& n) {
  Attrs attrs;
  for (const char* name : {"anchors", "class_num", "conf_thresh", "downsample_ratio", "clip_bbox",
                           "scale_x_y", "iou_aware", "iou_aware_factor"})
    if (const auto it = n.attrs.items().find(name); it != n.attrs.items().end())
      attrs.set(name, it->second);
  if (!attrs.has("class_num")) attrs.set("class_num", int64_t{1});
  if (n.version != 0 && n.version < 2000000) attrs.set("square_only", int64_t{1});
  const Vars y = apply(yolo_box_op, {n.need("X"), n.need("ImgSize")}, attrs, 2);
  n.out("Boxes", y[0]);
  n.out("Scores", y[1]);
}

}  // namespace

extern const OpDef yolo_box_op = {.name = "yolo_box",
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .outputs = 2,
                                  .infer = infer_yolo_box,
                                  .forward = forward_yolo_box,
                                  .no_grad = "the gradient of box operators is not written",
                                  .imports = {{"paddle:yolo_box", paddle_yolo_box}}};

}  // namespace hub
