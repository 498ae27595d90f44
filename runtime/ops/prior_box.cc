// Boxes that a network starts from, one set for each cell of a feature map [N, C, H, W]; only the
// shapes of the inputs count. All give boxes [H, W, n, 4] and variances of that shape.
//   prior_box(feature, image): SSD; min_sizes, max_sizes, aspect_ratios (1 comes first; flip adds
//   the inverses), step_w and step_h (0: image / feature), offset, clip, max_second (the box of a
//   max_size comes second instead of last). Corners as shares of the image.
//   density_prior_box(feature, image): fixed_sizes, fixed_ratios, densities (so many boxes of a
//   size along each side of a cell).
//   anchor_generator(feature): anchor_sizes, aspect_ratios, stride; corners in pixels.
#include <cmath>

#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const std::vector<OpDef> prior_box_ops;

namespace {

std::vector<float> floats(const Attrs& attrs, std::string_view name) {
  const auto v = attrs.floats(name);
  return {v.begin(), v.end()};
}

/// The aspect ratios of prior_box, those within 1e-6 of an earlier one left out.
std::vector<float> ratios(const Attrs& attrs) {
  std::vector<float> all{1};
  for (float r : floats(attrs, "aspect_ratios")) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](float a) { return std::fabs(a - r) < 1e-6F; });
    if (known) continue;
    all.push_back(r);
    if (attrs.i("flip", 0) != 0) all.push_back(1 / r);
  }
  return all;
}

/// Half the width and height of each box of a cell.
using Halves = std::vector<std::pair<float, float>>;

Halves prior_halves(const Attrs& attrs) {
  Halves out;
  const auto smallest = floats(attrs, "min_sizes");
  const auto largest = floats(attrs, "max_sizes");
  const auto all = ratios(attrs);
  const bool second = attrs.i("max_second", 0) != 0;
  for (size_t s = 0; s < smallest.size(); ++s) {
    const float size = smallest[s];
    auto add_largest = [&] {
      if (largest.empty()) return;
      const float side = std::sqrt(size * largest[s]) / 2;
      out.emplace_back(side, side);
    };
    for (size_t r = 0; r < all.size(); ++r) {
      const float root = std::sqrt(all[r]);
      out.emplace_back(size * root / 2, size / root / 2);
      if (r == 0 && second) add_largest();
    }
    if (!second) add_largest();
  }
  return out;
}

int64_t density_count(const Attrs& attrs) {
  int64_t n = 0;
  for (int64_t d : attrs.ints("densities"))
    n += d * d * static_cast<int64_t>(attrs.floats("fixed_ratios").size());
  return n;
}

/// Puts four numbers of each box and of its variance down, one after the other.
struct Writer {
  const Call& call;
  std::vector<float> variances;
  int64_t at = 0;
  explicit Writer(const Call& c) : call(c), variances(floats(c.attrs, "variances")) {}
  void add(float x0, float y0, float x1, float y1) {
    float box[] = {x0, y0, x1, y1};
    if (call.attrs.i("clip", 0) != 0)
      for (float& v : box) v = std::clamp(v, 0.0F, 1.0F);
    if (call.wants(0)) std::copy_n(box, 4, call.y(0).data<float>() + at);
    if (call.wants(1)) std::copy_n(variances.data(), 4, call.y(1).data<float>() + at);
    at += 4;
  }
};

struct Grid {
  float width, height, step_w, step_h;
  explicit Grid(const Call& call) {
    const Shape& f = call.x(0).shape();
    const Shape& image = call.x(1).shape();
    height = static_cast<float>(image[2]);
    width = static_cast<float>(image[3]);
    step_w = static_cast<float>(call.attrs.f("step_w", 0));
    step_h = static_cast<float>(call.attrs.f("step_h", 0));
    if (step_w == 0 || step_h == 0) {
      step_w = width / static_cast<float>(f[3]);
      step_h = height / static_cast<float>(f[2]);
    }
  }
};

/// Calls f(column, row) for each cell.
template <class F>
void each_cell(const Shape& feature, F f) {
  for (int64_t row = 0; row < feature[2]; ++row)
    for (int64_t column = 0; column < feature[3]; ++column)
      f(static_cast<float>(column), static_cast<float>(row));
}

void forward_prior_box(const Call& call) {
  const Grid g(call);
  const Halves halves = prior_halves(call.attrs);
  const auto offset = static_cast<float>(call.attrs.f("offset", 0.5));
  Writer out(call);
  each_cell(call.x(0).shape(), [&](float column, float row) {
    const float x = (column + offset) * g.step_w;
    const float y = (row + offset) * g.step_h;
    for (const auto& [w, h] : halves)
      out.add((x - w) / g.width, (y - h) / g.height, (x + w) / g.width, (y + h) / g.height);
  });
}

void forward_density(const Call& call) {
  const Grid g(call);
  const auto offset = static_cast<float>(call.attrs.f("offset", 0.5));
  const auto sizes = floats(call.attrs, "fixed_sizes");
  const auto fixed = floats(call.attrs, "fixed_ratios");
  const auto densities = call.attrs.ints("densities");
  const auto step = convert<int64_t>((g.step_w + g.step_h) * 0.5F);
  const float half_step = static_cast<float>(step) / 2;
  Writer out(call);
  each_cell(call.x(0).shape(), [&](float column, float row) {
    const float x = (column + offset) * g.step_w;
    const float y = (row + offset) * g.step_h;
    for (size_t s = 0; s < sizes.size(); ++s) {
      const auto shift = static_cast<float>(step / densities[s]);
      for (float r : fixed) {
        const float w = sizes[s] * std::sqrt(r) / 2;
        const float h = sizes[s] / std::sqrt(r) / 2;
        for (int64_t i = 0; i < densities[s] * densities[s]; ++i) {
          const float cx = x - half_step + shift / 2 + static_cast<float>(i % densities[s]) * shift;
          const float cy = y - half_step + shift / 2 + static_cast<float>(i / densities[s]) * shift;
          out.add(std::max((cx - w) / g.width, 0.0F), std::max((cy - h) / g.height, 0.0F),
                  std::min((cx + w) / g.width, 1.0F), std::min((cy + h) / g.height, 1.0F));
        }
      }
    }
  });
}

void forward_anchors(const Call& call) {
  const auto stride = floats(call.attrs, "stride");
  const auto offset = static_cast<float>(call.attrs.f("offset", 0.5));
  Writer out(call);
  each_cell(call.x(0).shape(), [&](float column, float row) {
    const float x = column * stride[0] + offset * (stride[0] - 1);
    const float y = row * stride[1] + offset * (stride[1] - 1);
    for (float r : floats(call.attrs, "aspect_ratios")) {
      const float base_w = std::round(std::sqrt(stride[0] * stride[1] / r));
      const float base_h = std::round(base_w * r);
      for (float size : floats(call.attrs, "anchor_sizes")) {
        const float w = 0.5F * (size / stride[0] * base_w - 1);
        const float h = 0.5F * (size / stride[1] * base_h - 1);
        out.add(x - w, y - h, x + w, y + h);
      }
    }
  });
}

/// Results for `count` boxes a cell of the feature map, input 0.
std::vector<Spec> results(const Infer& in, int64_t count) {
  for (size_t i = 0; i < in.size(); ++i)
    if (in.in(i).shape.rank() != 4)
      fail(Code::refused, "input ", i, " is ", in.in(i).str(), "; [N, C, H, W] is wanted");
  if (count < 1 || in.attrs.floats("variances").size() != 4)
    fail(Code::refused, count, " boxes a cell, ", in.attrs.floats("variances").size(),
         " variances; 4 are wanted");
  const Shape& f = in.in(0).shape;
  const Spec boxes{DType::f32, {f[2], f[3], count, 4}};
  return {boxes, boxes};
}

std::vector<Spec> infer_prior_box(const Infer& in) {
  const auto smallest = in.attrs.floats("min_sizes");
  const auto largest = in.attrs.floats("max_sizes");
  if (!largest.empty() && largest.size() != smallest.size())
    fail(Code::refused, smallest.size(), " smallest and ", largest.size(), " largest sizes");
  return results(in, static_cast<int64_t>(prior_halves(in.attrs).size()));
}

std::vector<Spec> infer_density(const Infer& in) {
  const auto densities = in.attrs.ints("densities");
  const bool positive =
      std::all_of(densities.begin(), densities.end(), [](int64_t d) { return d > 0 && d < 1024; });
  if (!positive || densities.size() != in.attrs.floats("fixed_sizes").size())
    fail(Code::refused, "densities do not fit the sizes");
  return results(in, density_count(in.attrs));
}

std::vector<Spec> infer_anchors(const Infer& in) {
  if (in.attrs.floats("stride").size() != 2) fail(Code::refused, "'stride' must hold two numbers");
  return results(in, static_cast<int64_t>(in.attrs.floats("anchor_sizes").size() *
                                          in.attrs.floats("aspect_ratios").size()));
}

// ---- import rules ----

Attrs copied(const ImportNode& n, std::initializer_list<const char*> names) {
  Attrs attrs;
  for (const char* name : names)
    if (const auto it = n.attrs.items().find(name); it != n.attrs.items().end())
      attrs.set(name, it->second);
  return attrs;
}

void paddle_prior_box(ImportNode& n) {
  Attrs attrs = copied(
      n, {"min_sizes", "max_sizes", "aspect_ratios", "variances", "step_w", "step_h", "offset"});
  attrs.set("flip", n.attrs.i("flip", 1));
  attrs.set("clip", n.attrs.i("clip", 1));
  attrs.set("max_second", n.attrs.i("min_max_aspect_ratios_order", 0));
  if (!attrs.has("variances")) attrs.set("variances", std::vector<double>{0.1, 0.1, 0.2, 0.2});
  const Vars y = apply(prior_box_ops[0], {n.need("Input"), n.need("Image")}, attrs, 2);
  n.out("Boxes", y[0]);
  n.out("Variances", y[1]);
}

void paddle_density(ImportNode& n) {
  Attrs attrs = copied(
      n, {"fixed_sizes", "fixed_ratios", "densities", "variances", "step_w", "step_h", "offset"});
  attrs.set("clip", n.attrs.i("clip", 1));
  Vars y = apply(prior_box_ops[1], {n.need("Input"), n.need("Image")}, attrs, 2);
  if (n.attrs.i("flatten_to_2d", 0) != 0)
    for (Var& v : y) v = reshape(v, {-1, 4});
  n.out("Boxes", y[0]);
  n.out("Variances", y[1]);
}

void paddle_anchors(ImportNode& n) {
  Attrs attrs = copied(n, {"anchor_sizes", "aspect_ratios", "variances", "stride", "offset"});
  if (!attrs.has("stride")) attrs.set("stride", std::vector<double>{16, 16});
  const Vars y = apply(prior_box_ops[2], {n.need("Input")}, attrs, 2);
  n.out("Anchors", y[0]);
  n.out("Variances", y[1]);
}

OpDef prior(std::string_view name, int inputs, std::vector<Spec> (*infer)(const Infer&),
            void (*forward)(const Call&), std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .outputs = 2,
          .spec_only = inputs == 2 ? 0b11U : 0b1U,
          .infer = infer,
          .forward = forward,
          .grad = nullptr,
          .no_grad = "boxes follow from shapes alone",
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> prior_box_ops = {
    prior("prior_box", 2, infer_prior_box, forward_prior_box,
          {{"paddle:prior_box", paddle_prior_box}}),
    prior("density_prior_box", 2, infer_density, forward_density,
          {{"paddle:density_prior_box", paddle_density}}),
    prior("anchor_generator", 1, infer_anchors, forward_anchors,
          {{"paddle:anchor_generator", paddle_anchors}}),
};

}  // namespace hub
