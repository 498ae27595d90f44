// Boxes against boxes, corners [x0, y0, x1, y1]; normalized 0 means that the last pixel counts too.
//   box_coder(prior [M, 4], variance? [M, 4], target) -> boxes. decode 0: target [N, 4] as offsets
//   from every prior, [N, M, 4]; decode 1: offsets [N, M, 4] from priors along axis 1 - `axis` back
//   to corners. Without a variance input attribute `variance` holds four numbers, or none.
//   iou_similarity(x [N, 4], y [M, 4]) -> [N, M].
//   box_clip(boxes [R, 4], info [N, 3], offsets [N + 1]): limited to images whose height, width and
//   scale `info` holds; the boxes of image i are rows offsets[i] to offsets[i + 1].
#include <cmath>

#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr std::string_view no_grad = "the gradient of box operators is not written";

float extra_of(const Attrs& attrs) { return attrs.i("normalized", 1) != 0 ? 0.0F : 1.0F; }

void check_boxes(const Infer& in, size_t i, size_t rank) {
  const Spec& s = in.in(i);
  if (s.dtype != DType::f32 || s.shape.rank() != rank || s.shape.back() != 4)
    fail(Code::unsupported, "input ", i, " is ", s.str(), "; float32 boxes of rank ", rank,
         " are wanted");
}

struct Center {
  float x, y, w, h;
  Center(const float* b, float extra)
      : x(b[0] + (b[2] - b[0] + extra) / 2),
        y(b[1] + (b[3] - b[1] + extra) / 2),
        w(b[2] - b[0] + extra),
        h(b[3] - b[1] + extra) {}
};

std::vector<Spec> infer_coder(const Infer& in) {
  const bool decode = in.attrs.i("decode") != 0;
  check_boxes(in, 0, 2);
  check_boxes(in, 2, decode ? 3 : 2);
  const Shape& prior = in.in(0).shape;
  const Shape& target = in.in(2).shape;
  if (in.has(1)) want(in, 1, {DType::f32, prior});
  const size_t given = in.attrs.floats("variance").size();
  if (given != 0 && given != 4) fail(Code::refused, given, " variances; 4 are wanted");
  if (!decode) return {{DType::f32, {target[0], prior[0], 4}}};
  const int64_t axis = in.attrs.i("axis", 0);
  if ((axis != 0 && axis != 1) || target[axis == 0 ? 1 : 0] != prior[0])
    fail(Code::refused, "target ", target.str(), " does not fit ", prior.str());
  return {in.in(2)};
}

void forward_coder(const Call& call) {
  const bool decode = call.attrs.i("decode") != 0;
  const bool rows = call.attrs.i("axis", 0) == 1;
  const float extra = extra_of(call.attrs);
  std::vector<float> fixed{1, 1, 1, 1};
  if (const auto given = call.attrs.floats("variance"); !given.empty())
    fixed.assign(given.begin(), given.end());
  const Shape& shape = call.y().shape();
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    const int64_t row = i / shape[1], column = i % shape[1];
    const int64_t k = decode && rows ? row : column;
    const Center p(call.x(0).data<float>() + k * 4, extra);
    const float* v = call.has(1) ? call.x(1).data<float>() + k * 4 : fixed.data();
    const float* t = call.x(2).data<float>() + (decode ? i : row) * 4;
    float* y = call.y().data<float>() + i * 4;
    if (decode) {
      const float cx = v[0] * t[0] * p.w + p.x, cy = v[1] * t[1] * p.h + p.y;
      const float w = std::exp(v[2] * t[2]) * p.w, h = std::exp(v[3] * t[3]) * p.h;
      y[0] = cx - w / 2;
      y[1] = cy - h / 2;
      y[2] = cx + w / 2 - extra;
      y[3] = cy + h / 2 - extra;
    } else {
      const float w = t[2] - t[0] + extra, h = t[3] - t[1] + extra;
      y[0] = ((t[2] + t[0]) / 2 - p.x) / p.w / v[0];
      y[1] = ((t[3] + t[1]) / 2 - p.y) / p.h / v[1];
      y[2] = std::log(std::fabs(w / p.w)) / v[2];
      y[3] = std::log(std::fabs(h / p.h)) / v[3];
    }
  }
}

std::vector<Spec> infer_similarity(const Infer& in) {
  check_boxes(in, 0, 2);
  check_boxes(in, 1, 2);
  return {{DType::f32, {in.in(0).shape[0], in.in(1).shape[0]}}};
}

/// Unlike box_overlap this sees boxes less than a pixel apart as touching.
float similarity(const float* a, const float* b, float extra) {
  auto area = [extra](const float* c) { return (c[2] - c[0] + extra) * (c[3] - c[1] + extra); };
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra;
  const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra;
  const float both = std::max(width, 0.0F) * std::max(height, 0.0F);
  return both / (area(a) + area(b) - both);
}

void forward_similarity(const Call& call) {
  const int64_t columns = call.x(1).shape()[0];
  for (int64_t i = 0; i < call.y().numel(); ++i)
    call.y().data<float>()[i] =
        similarity(call.x(0).data<float>() + i / columns * 4,
                   call.x(1).data<float>() + i % columns * 4, extra_of(call.attrs));
}

std::vector<Spec> infer_box_clip(const Infer& in) {
  check_boxes(in, 0, 2);
  const Spec& info = in.in(1);
  if (info.dtype != DType::f32 || info.shape.rank() != 2 || info.shape[1] != 3)
    fail(Code::refused, "input 1 is ", info.str(), "; float32[N, 3] is wanted");
  want(in, 2, {DType::i64, {info.shape[0] + 1}});
  return {in.in(0)};
}

void forward_box_clip(const Call& call) {
  const auto offsets = checked_offsets(call.x(2), call.x(0).shape()[0]);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const float* info = call.x(1).data<float>() + i * 3;
    const float height = std::round(info[0] / info[2]) - 1,
                width = std::round(info[1] / info[2]) - 1;
    for (int64_t k = offsets[i] * 4; k < offsets[i + 1] * 4; ++k)
      call.y().data<float>()[k] =
          std::max(std::min(call.x(0).data<float>()[k], k % 2 == 0 ? width : height), 0.0F);
  }
}

// ---- import rules ----

void paddle_coder(ImportNode& n) {
  const std::string how = n.attrs.s("code_type", "encode_center_size");
  if (how != "encode_center_size" && how != "decode_center_size")
    n.refuse("'code_type' is '", how, "'");
  Attrs attrs{{"decode", int64_t{how == "decode_center_size"}},
              {"normalized", n.attrs.i("box_normalized", 1)},
              {"axis", n.attrs.i("axis", 0)}};
  if (const auto v = n.attrs.floats("variance"); !v.empty()) attrs.set("variance", v);
  n.out("OutputBox",
        apply("box_coder", {n.need("PriorBox"), n.in("PriorBoxVar"), n.need("TargetBox")}, attrs));
}

void paddle_similarity(ImportNode& n) {
  n.out("Out", apply("iou_similarity", {n.need("X"), n.need("Y")},
                     {{"normalized", n.attrs.i("box_normalized", 1)}}));
}

void paddle_box_clip(ImportNode& n) {
  n.out("Output", apply("box_clip", {n.need("Input"), n.need("ImInfo"), n.offsets("Input")}));
}

OpDef boxes(std::string_view name, int inputs, std::vector<Spec> (*infer)(const Infer&),
            void (*forward)(const Call&), std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .infer = infer,
          .forward = forward,
          .no_grad = no_grad,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> box_ops = {
    boxes("box_coder", 3, infer_coder, forward_coder, {{"paddle:box_coder", paddle_coder}}),
    boxes("iou_similarity", 2, infer_similarity, forward_similarity,
          {{"paddle:iou_similarity", paddle_similarity}}),
    boxes("box_clip", 3, infer_box_clip, forward_box_clip, {{"paddle:box_clip", paddle_box_clip}}),
};

}  // namespace hub
