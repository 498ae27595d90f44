// multiclass_nms(boxes [N, M, 4], scores [N, C, M]) -> rows [n, 6], index int32 [n, 1], count int32
// [N]: of each image the best boxes of each class, as rows of class, score and corners; `index`
// counts boxes over all images. score_threshold, nms_top_k and keep_top_k (-1: all), nms_threshold,
// nms_eta, normalized (0: the last pixel counts too), background_label (a class that is left out).
// matrix_nms: the same with scores that are lowered by what overlaps a box instead of a choice;
// post_threshold, use_gaussian, gaussian_sigma. Both: with `none` there is one row [-1] when
// nothing is found. The sizes of the results are known only from the numbers.
#include <cmath>

#include "runtime/ops/boxes.h"
#include "runtime/ops/lod_import.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const std::vector<OpDef> multiclass_nms_ops;

namespace {

struct Found {
  int64_t label, box;
  float score;
};

struct Setting {
  float least, limit, eta, extra, post, sigma;
  int64_t first, keep, background;
  bool gaussian;
  explicit Setting(const Attrs& a)
      : least(static_cast<float>(a.f("score_threshold"))),
        limit(static_cast<float>(a.f("nms_threshold", 0.3))),
        eta(static_cast<float>(a.f("nms_eta", 1))),
        extra(a.i("normalized", 1) != 0 ? 0.0F : 1.0F),
        post(static_cast<float>(a.f("post_threshold", 0))),
        sigma(static_cast<float>(a.f("gaussian_sigma", 2))),
        first(a.i("nms_top_k")),
        keep(a.i("keep_top_k")),
        background(a.i("background_label", 0)),
        gaussian(a.i("use_gaussian", 0) != 0) {}
};

void by_score(std::vector<Found>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.score > b.score; });
}
void cut(std::vector<Found>& found, int64_t most) {
  if (most >= 0 && static_cast<int64_t>(found.size()) > most)
    found.resize(static_cast<size_t>(most));
}

std::vector<Found> choose(const Setting& s, const float* boxes, const float* scores,
                          int64_t classes, int64_t count) {
  std::vector<Found> found;
  for (int64_t c = 0; c < classes; ++c) {
    if (c == s.background) continue;
    const auto order = best_first(scores + c * count, count, s.least, s.first);
    for (int64_t i : suppress(boxes, order, s.limit, s.eta, s.extra))
      found.push_back({c, i, scores[c * count + i]});
  }
  if (s.keep < 0 || static_cast<int64_t>(found.size()) <= s.keep) return found;
  by_score(found);
  cut(found, s.keep);
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.label < b.label; });
  return found;
}

std::vector<Found> decay(const Setting& s, const float* boxes, const float* scores, int64_t classes,
                         int64_t count) {
  std::vector<Found> found;
  for (int64_t c = 0; c < classes; ++c) {
    if (c == s.background) continue;
    const float* score = scores + c * count;
    const auto order = best_first(score, count, s.least, s.first);
    std::vector<float> most(order.size());  // of the overlaps of each with better ones
    for (size_t i = 0; i < order.size(); ++i) {
      float least = 1;
      for (size_t j = 0; j < i; ++j) {
        const float iou = box_overlap(boxes + order[i] * 4, boxes + order[j] * 4, s.extra);
        most[i] = std::max(most[i], iou);
        least = std::min(least, s.gaussian ? std::exp((most[j] * most[j] - iou * iou) * s.sigma)
                                           : (1 - iou) / (1 - most[j]));
      }
      const float lowered = least * score[order[i]];
      if (lowered > s.post) found.push_back({c, order[i], lowered});
    }
  }
  by_score(found);
  cut(found, s.keep);
  return found;
}

using Finder = decltype(&choose);

template <Finder find>
std::vector<std::vector<Found>> all_images(const Attrs& attrs, const Tensor& boxes,
                                           const Tensor& scores) {
  const Shape& s = scores.shape();
  std::vector<std::vector<Found>> all;
  for (int64_t i = 0; i < s[0]; ++i)
    all.push_back(find(Setting(attrs), boxes.data<float>() + i * s[2] * 4,
                       scores.data<float>() + i * s[1] * s[2], s[1], s[2]));
  return all;
}

template <Finder find>
std::vector<Spec> infer_nms(const Infer& in) {
  const Spec& boxes = in.in(0);
  const Spec& scores = in.in(1);
  const bool fits = boxes.dtype == DType::f32 && scores.dtype == DType::f32 &&
                    boxes.shape.rank() == 3 && scores.shape.rank() == 3 && boxes.shape[2] == 4 &&
                    boxes.shape[0] == scores.shape[0] && boxes.shape[1] == scores.shape[2];
  if (!fits)
    fail(Code::unsupported, "boxes ", boxes.str(), " and scores ", scores.str(),
         "; float32 [N, M, 4] and [N, C, M] are wanted");
  int64_t n = 0;
  for (const auto& found : all_images<find>(in.attrs, in.value(0), in.value(1)))
    n += static_cast<int64_t>(found.size());
  const bool none = n == 0 && in.attrs.i("none", 0) != 0;
  return {{DType::f32, none ? Shape{1, 1} : Shape{n, 6}},
          {DType::i32, {n, 1}},
          {DType::i32, {boxes.shape[0]}}};
}

template <Finder find>
void forward_nms(const Call& call) {
  const auto all = all_images<find>(call.attrs, call.x(0), call.x(1));
  const int64_t count = call.x(1).shape()[2];
  if (call.wants(0) && call.y().shape()[1] == 1) *call.y().data<float>() = -1;
  int64_t row = 0;
  for (size_t image = 0; image < all.size(); ++image) {
    const int64_t first = static_cast<int64_t>(image) * count;
    for (const Found& f : all[image]) {
      const float* box = call.x(0).data<float>() + (first + f.box) * 4;
      if (call.wants(0)) {
        float* to = call.y().data<float>() + row * 6;
        to[0] = static_cast<float>(f.label);
        to[1] = f.score;
        std::copy_n(box, 4, to + 2);
      }
      if (call.wants(1)) call.y(1).data<int32_t>()[row] = static_cast<int32_t>(first + f.box);
      ++row;
    }
    if (call.wants(2)) call.y(2).data<int32_t>()[image] = static_cast<int32_t>(all[image].size());
  }
}

void paddle_nms(ImportNode& n) {
  if (n.in("RoisNum")) n.refuse("boxes of all images in one list (RoisNum)");
  Attrs attrs;
  for (const char* name :
       {"score_threshold", "nms_top_k", "keep_top_k", "nms_threshold", "nms_eta", "normalized",
        "background_label", "post_threshold", "use_gaussian", "gaussian_sigma"})
    if (const auto it = n.attrs.items().find(name); it != n.attrs.items().end())
      attrs.set(name, it->second);
  if (n.type == "multiclass_nms") attrs.set("none", int64_t{1});
  const OpDef& op = multiclass_nms_ops[n.type == "matrix_nms" ? 1 : 0];
  const Vars y = apply(op, {n.need("BBoxes"), n.need("Scores")}, attrs, 3);
  n.out("Out", y[0]);
  n.out("Index", y[1]);
  if (n.type != "multiclass_nms3") n.set_offsets("Out", offsets_of_counts(n, y[2]));
  n.out(n.type == "matrix_nms" ? "RoisNum" : "NmsRoisNum", y[2]);
}

template <Finder find>
OpDef nms(std::string_view name, std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .outputs = 3,
          .infer = infer_nms<find>,
          .forward = forward_nms<find>,
          .no_grad = "which boxes stay is a choice, not a number",
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> multiclass_nms_ops = {
    nms<choose>("multiclass_nms", {{"paddle:multiclass_nms", paddle_nms},
                                   {"paddle:multiclass_nms2", paddle_nms},
                                   {"paddle:multiclass_nms3", paddle_nms}}),
    nms<decay>("matrix_nms", {{"paddle:matrix_nms", paddle_nms}}),
};

}  // namespace hub
