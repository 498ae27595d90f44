// Regions that a two-stage detector looks at closer; boxes are corners, counts int32 by image.
//   generate_proposals(scores [N, A, H, W], deltas [N, 4A, H, W], images [N, 2 or 3] (height,
//   width, scale), anchors [H, W, A, 4], variances of that shape) -> rois [n, 4], scores [n, 1],
//   count [N]. pre_nms_topN, post_nms_topN, nms_thresh, min_size, eta, pixel_offset (1: the last
//   pixel counts too), scaled (1: min_size is in pixels before the image was scaled).
//   distribute_fpn_proposals(rois [R, 4], count [N]) -> for each level from min_level to max_level
//   rois [r, 4], then restore int32 [R, 1] (where each went, levels one after the other), then for
//   each level its count [N]. refer_level, refer_scale, pixel_offset.
//   collect_fpn_proposals(rois…, scores…, count…) -> the post_nms_topN best of all levels [n, 4],
//   by image, and their count [N].
// The sizes of the results are known only from the numbers.
#include <cmath>

#include "runtime/ops/boxes.h"
#include "runtime/ops/lod_import.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const std::vector<OpDef> proposal_ops;

namespace {

constexpr std::string_view no_grad = "which boxes stay is a choice, not a number";

void want_f32(const Spec& s, const Shape& shape, std::string_view what) {
  if (s != Spec{DType::f32, shape})
    fail(Code::refused, what, " are ", s.str(), "; float32", shape.str(), " is wanted");
}

/// Boxes and scores of the images, and how many each has.
struct Rois {
  std::vector<float> boxes, scores;
  std::vector<int32_t> count;
};

// ---- generate_proposals ----

template <class Input>
Rois generate(const Attrs& attrs, Input input) {
  const Shape& shape = input(0).shape();
  const int64_t anchors = shape[1], cells = shape[2] * shape[3], all = anchors * cells;
  const int64_t width = input(2).shape()[1];
  const bool scaled = attrs.i("scaled", 0) != 0;
  const float extra = attrs.i("pixel_offset", 1) != 0 ? 1.0F : 0.0F;
  const float least = std::max(static_cast<float>(attrs.f("min_size")), 1.0F);
  const float most_log = std::log(1000.0F / 16.0F);
  const int64_t before = attrs.i("pre_nms_topN"), after = attrs.i("post_nms_topN");
  Rois out;
  for (int64_t image = 0; image < shape[0]; ++image) {
    const float* info = input(2).template data<float>() + image * width;
    const float* deltas = input(1).template data<float>() + image * all * 4;
    std::vector<float> scores(static_cast<size_t>(all));  // in the order of the anchors
    for (int64_t i = 0; i < all; ++i)
      scores[static_cast<size_t>(i)] =
          input(0).template data<float>()[image * all + i % anchors * cells + i / anchors];
    const auto order =
        best_first(scores.data(), all, -INFINITY, before <= 0 ? int64_t{-1} : before);
    std::vector<float> boxes, kept_scores;
    for (int64_t i : order) {
      const float* a = input(3).template data<float>() + i * 4;
      const float* v = input(4).template data<float>() + i * 4;
      const float* d = deltas + i % anchors * 4 * cells + i / anchors;
      const float w = a[2] - a[0] + extra, h = a[3] - a[1] + extra;
      const float cx = v[0] * d[0] * w + a[0] + w / 2, cy = v[1] * d[cells] * h + a[1] + h / 2;
      const float bw = std::exp(std::min(v[2] * d[2 * cells], most_log)) * w;
      const float bh = std::exp(std::min(v[3] * d[3 * cells], most_log)) * h;
      const float right = info[1] - extra, bottom = info[0] - extra;
      const float box[] = {std::clamp(cx - bw / 2, 0.0F, right),
                           std::clamp(cy - bh / 2, 0.0F, bottom),
                           std::clamp(cx + bw / 2 - extra, 0.0F, right),
                           std::clamp(cy + bh / 2 - extra, 0.0F, bottom)};
      const float wide = box[2] - box[0], tall = box[3] - box[1];
      const float by = scaled ? info[2] : 1.0F;
      bool stays = wide / by + extra >= least && tall / by + extra >= least;
      if (extra != 0)
        stays = stays && box[0] + (wide + extra) / 2 <= info[1] &&
                box[1] + (tall + extra) / 2 <= info[0];
      if (!stays) continue;
      boxes.insert(boxes.end(), box, box + 4);
      kept_scores.push_back(scores[static_cast<size_t>(i)]);
    }
    if (boxes.empty()) {  // one box of nothing stands for none
      boxes.assign(4, 0.0F);
      kept_scores.assign(1, 0.0F);
    }
    std::vector<int64_t> sorted(kept_scores.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    auto chosen = sorted;
    if (const auto limit = static_cast<float>(attrs.f("nms_thresh")); limit > 0)
      chosen = suppress(boxes.data(), sorted, limit, static_cast<float>(attrs.f("eta", 1)), extra);
    if (after > 0 && static_cast<int64_t>(chosen.size()) > after)
      chosen.resize(static_cast<size_t>(after));
    for (int64_t i : chosen) {
      out.boxes.insert(out.boxes.end(), boxes.begin() + i * 4, boxes.begin() + i * 4 + 4);
      out.scores.push_back(kept_scores[static_cast<size_t>(i)]);
    }
    out.count.push_back(static_cast<int32_t>(chosen.size()));
  }
  return out;
}

std::vector<Spec> infer_generate(const Infer& in) {
  const Shape& s = in.in(0).shape;
  if (s.rank() != 4) fail(Code::refused, "scores are ", in.in(0).str());
  want_f32(in.in(0), s, "scores");
  want_f32(in.in(1), {s[0], 4 * s[1], s[2], s[3]}, "deltas");
  want_f32(in.in(3), {s[2], s[3], s[1], 4}, "anchors");
  want_f32(in.in(4), {s[2], s[3], s[1], 4}, "variances");
  want_f32(in.in(2), {s[0], in.attrs.i("scaled", 0) != 0 ? 3 : 2}, "images");
  const Rois rois = generate(in.attrs, [&](size_t i) -> const Tensor& { return in.value(i); });
  const auto n = static_cast<int64_t>(rois.scores.size());
  return {{DType::f32, {n, 4}}, {DType::f32, {n, 1}}, {DType::i32, {s[0]}}};
}

void write(const Call& call, size_t k, const std::vector<float>& values) {
  if (call.wants(k)) std::copy(values.begin(), values.end(), call.y(k).data<float>());
}
void write(const Call& call, size_t k, const std::vector<int32_t>& values) {
  if (call.wants(k)) std::copy(values.begin(), values.end(), call.y(k).data<int32_t>());
}

void forward_generate(const Call& call) {
  const Rois rois = generate(call.attrs, [&](size_t i) -> const Tensor& { return call.x(i); });
  write(call, 0, rois.boxes);
  write(call, 1, rois.scores);
  write(call, 2, rois.count);
}

// ---- distribute_fpn_proposals ----

std::vector<int64_t> levels_of(const Attrs& attrs, const Tensor& rois) {
  const int64_t lowest = attrs.i("min_level"), highest = attrs.i("max_level");
  const float extra = attrs.i("pixel_offset", 1) != 0 ? 1.0F : 0.0F;
  const auto scale = static_cast<float>(attrs.i("refer_scale"));
  std::vector<int64_t> levels;
  for (int64_t i = 0; i < rois.shape()[0]; ++i) {
    const float side = std::sqrt(box_area(rois.data<float>() + i * 4, extra));
    const float level =
        std::floor(std::log2(side / scale + 1e-6F) + static_cast<float>(attrs.i("refer_level")));
    levels.push_back(std::clamp(static_cast<int64_t>(level), lowest, highest) - lowest);
  }
  return levels;
}

void check_counts(const Tensor& count, int64_t rows) {
  int64_t sum = 0;
  for (int32_t c : count.values<int32_t>()) sum += c < 0 ? rows + 1 : c;
  if (sum != rows) fail(Code::refused, "the counts of ", rows, " boxes do not sum up to that");
}

std::vector<Spec> infer_distribute(const Infer& in) {
  const Spec& rois = in.in(0);
  const Spec& count = in.in(1);
  const int64_t levels = in.attrs.i("max_level") - in.attrs.i("min_level") + 1;
  if (rois.shape.rank() != 2 || rois != Spec{DType::f32, {rois.shape[0], 4}} ||
      count.dtype != DType::i32 || count.shape.rank() != 1)
    fail(Code::refused, "rois are ", rois.str(), ", counts ", count.str());
  if (levels < 1 || levels > 32) fail(Code::refused, levels, " levels");
  check_counts(in.value(1), rois.shape[0]);
  std::vector<int64_t> sizes(static_cast<size_t>(levels));
  for (int64_t l : levels_of(in.attrs, in.value(0))) ++sizes[static_cast<size_t>(l)];
  std::vector<Spec> out;
  for (int64_t n : sizes) out.push_back({DType::f32, {n, 4}});
  out.push_back({DType::i32, {rois.shape[0], 1}});
  out.insert(out.end(), sizes.size(), count);
  return out;
}

void forward_distribute(const Call& call) {
  const auto of = levels_of(call.attrs, call.x(0));
  const auto levels =
      static_cast<size_t>(call.attrs.i("max_level") - call.attrs.i("min_level") + 1);
  const auto images = static_cast<size_t>(call.x(1).numel());
  std::vector<int32_t> restore(of.size());
  int32_t place = 0;
  for (size_t level = 0; level < levels; ++level) {
    std::vector<float> boxes;
    std::vector<int32_t> count(images);
    size_t row = 0;
    for (size_t image = 0; image < images; ++image) {
      for (int32_t k = 0; k < call.x(1).data<int32_t>()[image]; ++k, ++row) {
        if (of[row] != static_cast<int64_t>(level)) continue;
        const float* box = call.x(0).data<float>() + row * 4;
        boxes.insert(boxes.end(), box, box + 4);
        restore[row] = place++;
        ++count[image];
      }
    }
    write(call, level, boxes);
    write(call, levels + 1 + level, count);
  }
  write(call, levels, restore);
}

// ---- collect_fpn_proposals ----

template <class Input>
Rois collect(const Attrs& attrs, size_t levels, Input input) {
  struct Roi {
    const float* box;
    float score;
    size_t image;
  };
  std::vector<Roi> all;
  const auto images = static_cast<size_t>(input(2 * levels).numel());
  for (size_t level = 0; level < levels; ++level) {
    size_t row = 0;
    for (size_t image = 0; image < images; ++image)
      for (int32_t k = 0; k < input(2 * levels + level).template data<int32_t>()[image]; ++k, ++row)
        all.push_back({input(level).template data<float>() + row * 4,
                       input(levels + level).template data<float>()[row], image});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Roi& a, const Roi& b) { return a.score > b.score; });
  const int64_t most = attrs.i("post_nms_topN");
  if (static_cast<int64_t>(all.size()) > most) all.resize(static_cast<size_t>(most));
  std::stable_sort(all.begin(), all.end(),
                   [](const Roi& a, const Roi& b) { return a.image < b.image; });
  Rois out;
  out.count.resize(images);
  for (const Roi& r : all) {
    out.boxes.insert(out.boxes.end(), r.box, r.box + 4);
    ++out.count[r.image];
  }
  return out;
}

std::vector<Spec> infer_collect(const Infer& in) {
  if (in.size() % 3 != 0 || in.attrs.i("post_nms_topN") < 0)
    fail(Code::refused, in.size(), " inputs: boxes, scores and counts of each level are wanted");
  const size_t levels = in.size() / 3;
  const Spec& count = in.in(2 * levels);
  for (size_t level = 0; level < levels; ++level) {
    const Shape& boxes = in.in(level).shape;
    if (boxes.rank() != 2) fail(Code::refused, "boxes are ", in.in(level).str());
    want_f32(in.in(level), {boxes[0], 4}, "boxes");
    want_f32(in.in(levels + level), {boxes[0], 1}, "scores");
    if (count.dtype != DType::i32 || in.in(2 * levels + level) != count)
      fail(Code::refused, "counts are ", in.in(2 * levels + level).str());
    check_counts(in.value(2 * levels + level), boxes[0]);
  }
  const Rois rois =
      collect(in.attrs, levels, [&](size_t i) -> const Tensor& { return in.value(i); });
  return {{DType::f32, {static_cast<int64_t>(rois.boxes.size()) / 4, 4}},
          {DType::i32, {count.shape.numel()}}};
}

void forward_collect(const Call& call) {
  const Rois rois =
      collect(call.attrs, call.in.size() / 3, [&](size_t i) -> const Tensor& { return call.x(i); });
  write(call, 0, rois.boxes);
  write(call, 1, rois.count);
}

// ---- import rules ----

void paddle_generate(ImportNode& n) {
  const bool v2 = n.type == "generate_proposals_v2";
  const Attrs attrs{{"pre_nms_topN", n.attrs.i("pre_nms_topN")},
                    {"post_nms_topN", n.attrs.i("post_nms_topN")},
                    {"nms_thresh", n.attrs.f("nms_thresh")},
                    {"min_size", n.attrs.f("min_size")},
                    {"eta", n.attrs.f("eta")},
                    {"pixel_offset", v2 ? n.attrs.i("pixel_offset", 1) : int64_t{1}},
                    {"scaled", int64_t{!v2}}};
  const Vars y = apply(proposal_ops[0],
                       {n.need("Scores"), n.need("BboxDeltas"), n.need(v2 ? "ImShape" : "ImInfo"),
                        n.need("Anchors"), n.need("Variances")},
                       attrs, 3);
  n.out("RpnRois", y[0]);
  n.out("RpnRoiProbs", y[1]);
  n.out("RpnRoisNum", y[2]);
  n.set_offsets("RpnRois", offsets_of_counts(n, y[2]));
  n.set_offsets("RpnRoiProbs", offsets_of_counts(n, y[2]));
}

void paddle_distribute(ImportNode& n) {
  if (!n.in("RoisNum")) n.refuse("boxes of sequences (a LoD); RoisNum is wanted");
  const auto levels = static_cast<size_t>(
      std::clamp<int64_t>(n.attrs.i("max_level") - n.attrs.i("min_level") + 1, 1, 32));
  const Attrs attrs{{"min_level", n.attrs.i("min_level")},
                    {"max_level", n.attrs.i("max_level")},
                    {"refer_level", n.attrs.i("refer_level")},
                    {"refer_scale", n.attrs.i("refer_scale")},
                    {"pixel_offset", n.attrs.i("pixel_offset", 1)}};
  const Vars y =
      apply(proposal_ops[1], {n.need("FpnRois"), n.need("RoisNum")}, attrs, 2 * levels + 1);
  const auto middle = y.begin() + static_cast<std::ptrdiff_t>(levels);
  n.out_all("MultiFpnRois", {y.begin(), middle});
  n.out("RestoreIndex", *middle);
  n.out_all("MultiLevelRoIsNum", {middle + 1, y.end()});
}

void paddle_collect(ImportNode& n) {
  if (!n.in("MultiLevelRoIsNum")) n.refuse("boxes of sequences (a LoD); their numbers are wanted");
  Vars in;
  for (const char* slot : {"MultiLevelRois", "MultiLevelScores", "MultiLevelRoIsNum"})
    for (Var v : n.all(slot)) in.push_back(v);
  const Vars y = apply(proposal_ops[2], in, {{"post_nms_topN", n.attrs.i("post_nms_topN")}}, 2);
  n.out("FpnRois", y[0]);
  n.out("RoisNum", y[1]);
}

}  // namespace

extern const std::vector<OpDef> proposal_ops = {
    {.name = "generate_proposals",
     .min_inputs = 5,
     .max_inputs = 5,
     .outputs = 3,
     .infer = infer_generate,
     .forward = forward_generate,
     .no_grad = no_grad,
     .imports = {{"paddle:generate_proposals", paddle_generate},
                 {"paddle:generate_proposals_v2", paddle_generate}}},
    {.name = "distribute_fpn_proposals",
     .min_inputs = 2,
     .max_inputs = 2,
     .outputs = -1,
     .infer = infer_distribute,
     .forward = forward_distribute,
     .no_grad = no_grad,
     .imports = {{"paddle:distribute_fpn_proposals", paddle_distribute}}},
    {.name = "collect_fpn_proposals",
     .min_inputs = 3,
     .max_inputs = -1,
     .outputs = 2,
     .infer = infer_collect,
     .forward = forward_collect,
     .no_grad = no_grad,
     .imports = {{"paddle:collect_fpn_proposals", paddle_collect}}},
};

}  // namespace hub
