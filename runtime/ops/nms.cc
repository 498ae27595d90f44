// non_max_suppression(boxes [B, N, 4], scores [B, C, N], most?, iou?, score?) center_point_box ->
// int64 [n, 3]: batch, class and box of each kept box, as ONNX defines it. The sizes of the result
// are known only from the numbers.
#include <limits>

#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box box_of(const float* p, bool by_center) {
  if (by_center) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const float both = height * width;
  return both / (a.area() + b.area() - both);
}

/// The kept triples one behind the other; `input(i)` is null for an absent one.
template <class Input>
std::vector<int64_t> select(const Attrs& attrs, Input input) {
  const Shape& shape = input(1)->shape();
  const int64_t count = shape[2];
  const int64_t most = input(2) == nullptr ? 0 : input(2)->to_ints()[0];
  const float limit = input(3) == nullptr ? 0 : input(3)->to_floats()[0];
  const float least =
      input(4) == nullptr ? -std::numeric_limits<float>::infinity() : input(4)->to_floats()[0];
  const bool by_center = attrs.i("center_point_box", 0) != 0;
  std::vector<int64_t> kept;
  if (count == 0) return kept;
  for (int64_t line = 0; line < shape[0] * shape[1]; ++line) {
    const float* score = input(1)->template data<float>() + line * count;
    const float* boxes = input(0)->template data<float>() + line / shape[1] * count * 4;
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) {
      if (score[i] > least) order.push_back(i);  // never NaN
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    std::vector<Box> chosen;
    for (int64_t i : order) {
      if (static_cast<int64_t>(chosen.size()) >= most) break;
      const Box box = box_of(boxes + i * 4, by_center);
      if (std::any_of(chosen.begin(), chosen.end(),
                      [&](const Box& c) { return overlap(box, c) > limit; }))
        continue;
      chosen.push_back(box);
      kept.insert(kept.end(), {line / shape[1], line % shape[1], i});
    }
  }
  return kept;
}

std::vector<Spec> infer_nms(const Infer& infer) {
  const Spec& boxes = infer.in(0);
  const Spec& scores = infer.in(1);
  const bool fits = boxes.dtype == DType::f32 && scores.dtype == DType::f32 &&
                    boxes.shape.rank() == 3 && scores.shape.rank() == 3 && boxes.shape[2] == 4 &&
                    boxes.shape[0] == scores.shape[0] && boxes.shape[1] == scores.shape[2];
  if (!fits)
    fail(Code::refused, "boxes ", boxes.str(), " and scores ", scores.str(), " do not fit");
  for (size_t i = 2; i < 5; ++i) {
    if (!infer.has(i)) continue;
    if (infer.in(i).shape.numel() != 1) fail(Code::refused, "input ", i, " is ", infer.in(i).str());
  }
  const auto kept =
      select(infer.attrs, [&](size_t i) { return infer.has(i) ? &infer.value(i) : nullptr; });
  return {{DType::i64, {static_cast<int64_t>(kept.size() / 3), 3}}};
}

void forward_nms(const Call& call) {
  const auto kept =
      select(call.attrs, [&](size_t i) { return call.has(i) ? &call.x(i) : nullptr; });
  std::copy(kept.begin(), kept.end(), call.y().data<int64_t>());
}

}  // namespace

extern const OpDef non_max_suppression_op = {
    .name = "non_max_suppression",
    .min_inputs = 2,
    .max_inputs = 5,
    .infer = infer_nms,
    .forward = forward_nms,
    .no_grad = "which boxes stay is a choice, not a number",
    .imports = {{"onnx:NonMaxSuppression", onnx_same<"non_max_suppression">}}};

}  // namespace hub
