// Boxes, and the other operators that came with Paddle's programs. Paddle's own numbers for them
// are in data/paddle; these rows are small enough to be seen through.
#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

using Floats = std::vector<double>;

const Floats variances{0.1, 0.1, 0.2, 0.2};
/// Two boxes that overlap by 9 of 23, and one apart.
const std::vector<float> three{0, 0, 4, 4, 1, 1, 5, 5, 8, 8, 9, 9};

Attrs nms(int64_t keep) {
  return {{"score_threshold", 0.2},
          {"nms_top_k", int64_t{-1}},
          {"keep_top_k", keep},
          {"nms_threshold", 0.3},
          {"background_label", int64_t{-1}}};
}

/// The variances of `count` boxes of one cell.
Tensor repeated(int64_t count) {
  std::vector<float> all;
  for (int64_t i = 0; i < count; ++i) all.insert(all.end(), {0.1F, 0.1F, 0.2F, 0.2F});
  return f({1, 1, count, 4}, all);
}

Attrs fpn(int64_t top) { return {{"post_nms_topN", top}}; }

}  // namespace

std::vector<OpCase> detection_cases() {
  const Tensor boxes = f({1, 3, 4}, three);
  const Tensor scores = f({1, 2, 3}, {0.5, 0.9, 0.8, 0.1, 0.3, 0.4});
  const Tensor flat = f({3, 4}, three);
  return {
      {"log1p", {}, {f({3}, {0, 1, -0.5})}, {f({3}, {0, 0.6931472F, -0.6931472F})}},
      {"bit_not", {}, {t<int32_t>({2}, {0, 5})}, {t<int32_t>({2}, {-1, -6})}},
      {"bit_not", {}, {t<bool>({2}, {true, false})}, {t<bool>({2}, {false, true})}},
      {"bit_and", {}, {i({6, 12}), i(Shape{}, {10})}, {i({2, 8})}},
      {"bit_or", {}, {i({6, 12}), i(Shape{}, {10})}, {i({14, 14})}},
      {"bit_xor", {}, {i({6, 12}), i(Shape{}, {10})}, {i({12, 6})}},
      {"atan2",
       {},
       {f({2, 2}, {1, -1, 1, -1}), f({2}, {1, -1})},
       {f({2, 2}, {0.7853982F, -2.3561945F, 0.7853982F, -2.3561945F})}},
      {"roll",
       {{"axes", std::vector<int64_t>{1, 0}}},
       {f({2, 3}, {1, 2, 3, 4, 5, 6}), i({1, -1})},
       {f({2, 3}, {6, 4, 5, 3, 1, 2})}},
      {"roll", {}, {f({2, 2}, {1, 2, 3, 4}), i({5})}, {f({2, 2}, {4, 1, 2, 3})}},
      // One anchor of 16 by 32 pixels in the middle of a cell of 32; the second cell is too weak.
      {"yolo_box",
       {{"anchors", std::vector<int64_t>{16, 32}}, {"class_num", int64_t{1}}, {"conf_thresh", 0.4}},
       {f({1, 6, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, -9, 0, 0}), t<int32_t>({1, 2}, {32, 64})},
       {f({1, 2, 4}, {8, 0, 24, 31, 0, 0, 0, 0}), f({1, 2, 1}, {0.25, 0})}},
      {"multiclass_nms",
       nms(-1),
       {boxes, scores},
       {f({4, 6},
          {0, 0.9F, 1, 1, 5, 5, 0, 0.8F, 8, 8, 9, 9, 1, 0.4F, 8, 8, 9, 9, 1, 0.3F, 1, 1, 5, 5}),
        t<int32_t>({4, 1}, {1, 2, 2, 1}), t<int32_t>({1}, {4})}},
      {"multiclass_nms",
       nms(1),
       {boxes, scores},
       {f({1, 6}, {0, 0.9F, 1, 1, 5, 5}), t<int32_t>({1, 1}, {1}), t<int32_t>({1}, {1})}},
      {"multiclass_nms",
       {{"score_threshold", 2.0},
        {"nms_top_k", int64_t{-1}},
        {"keep_top_k", int64_t{-1}},
        {"none", int64_t{1}}},
       {boxes, scores},
       {f({1, 1}, {-1}), t<int32_t>({0, 1}, {}), t<int32_t>({1}, {0})}},
      {"matrix_nms",
       {{"score_threshold", 0.2},
        {"nms_top_k", int64_t{-1}},
        {"keep_top_k", int64_t{-1}},
        {"post_threshold", 0.35}},
       {boxes, scores},
       {f({1, 6}, {1, 0.4F, 8, 8, 9, 9}), t<int32_t>({1, 1}, {2}), t<int32_t>({1}, {1})}},
      {"prior_box",
       {{"min_sizes", Floats{2}},
        {"aspect_ratios", Floats{4}},
        {"variances", variances},
        {"clip", int64_t{1}}},
       {noise({1, 1, 1, 2}), noise({1, 3, 4, 8})},
       {f({1, 2, 2, 4}, {0.125, 0.25, 0.375, 0.75, 0, 0.375, 0.5, 0.625,  //
                         0.625, 0.25, 0.875, 0.75, 0.5, 0.375, 1, 0.625}),
        f({1, 2, 2, 4}, {0.1F, 0.1F, 0.2F, 0.2F, 0.1F, 0.1F, 0.2F, 0.2F,  //
                         0.1F, 0.1F, 0.2F, 0.2F, 0.1F, 0.1F, 0.2F, 0.2F})}},
      {"density_prior_box",
       {{"fixed_sizes", Floats{2}},
        {"fixed_ratios", Floats{1}},
        {"densities", std::vector<int64_t>{2}},
        {"variances", variances}},
       {noise({1, 1, 1, 1}), noise({1, 3, 4, 4})},
       {f({1, 1, 4, 4}, {0, 0, 0.5, 0.5, 0.5, 0, 1, 0.5, 0, 0.5, 0.5, 1, 0.5, 0.5, 1, 1}),
        repeated(4)}},
      {"anchor_generator",
       {{"anchor_sizes", Floats{8}},
        {"aspect_ratios", Floats{1}},
        {"stride", Floats{4, 4}},
        {"variances", variances}},
       {noise({1, 2, 1, 2})},
       {f({1, 2, 1, 4}, {-2, -2, 5, 5, 2, -2, 9, 5}), repeated(2).reshaped({1, 2, 1, 4})}},
      {"box_coder",
       {{"decode", int64_t{1}}, {"variance", Floats{0.5, 0.5, 1, 1}}},
       {f({1, 4}, {0, 0, 4, 2}), {}, f({2, 1, 4}, {0, 0, 0, 0, 1, 1, 0, 0.6931472F})},
       {f({2, 1, 4}, {0, 0, 4, 2, 2, 0, 6, 4})}},
      {"box_coder",
       {{"decode", int64_t{0}}},
       {f({1, 4}, {0, 0, 4, 2}), f({1, 4}, {0.5, 0.5, 1, 1}), f({1, 4}, {2, 0, 6, 4})},
       {f({1, 1, 4}, {1, 1, 0, 0.6931472F})}},
      {"iou_similarity", {}, {flat, f({1, 4}, {0, 0, 4, 4})}, {f({3, 1}, {1, 9.0F / 23, 0})}},
      {"box_clip",
       {},
       {flat, f({2, 3}, {4, 3, 1, 10, 20, 2}), i({0, 2, 3})},
       {f({3, 4}, {0, 0, 2, 3, 1, 1, 2, 3, 8, 4, 9, 4})}},
      {"generate_proposals",
       {{"pre_nms_topN", int64_t{10}},
        {"post_nms_topN", int64_t{1}},
        {"nms_thresh", 0.5},
        {"min_size", 0.1},
        {"pixel_offset", int64_t{0}}},
       {f({1, 1, 1, 2}, {0.3F, 0.6F}), f({1, 4, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 0}), f({1, 2}, {6, 6}),
        f({1, 2, 1, 4}, {0, 0, 4, 4, 3, 3, 9, 9}), f({1, 2, 1, 4}, {1, 1, 1, 1, 1, 1, 1, 1})},
       {f({1, 4}, {3, 3, 6, 6}), f({1, 1}, {0.6F}), t<int32_t>({1}, {1})}},
      {"distribute_fpn_proposals",
       {{"min_level", int64_t{2}},
        {"max_level", int64_t{3}},
        {"refer_level", int64_t{2}},
        {"refer_scale", int64_t{2}},
        {"pixel_offset", int64_t{0}}},
       {flat, t<int32_t>({1}, {3})},
       {f({1, 4}, {8, 8, 9, 9}), f({2, 4}, {0, 0, 4, 4, 1, 1, 5, 5}), t<int32_t>({3, 1}, {1, 2, 0}),
        t<int32_t>({1}, {1}), t<int32_t>({1}, {2})}},
      {"collect_fpn_proposals",
       fpn(2),
       {f({1, 4}, {0, 0, 4, 4}), f({2, 4}, {1, 1, 5, 5, 8, 8, 9, 9}), f({1, 1}, {0.2F}),
        f({2, 1}, {0.1F, 0.7F}), t<int32_t>({2}, {0, 1}), t<int32_t>({2}, {1, 1})},
       {f({2, 4}, {8, 8, 9, 9, 0, 0, 4, 4}), t<int32_t>({2}, {0, 2})}},
  };
}

}  // namespace hub
