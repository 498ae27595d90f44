// Shots of a film: TransNet V2 (Soucek and Lokoc 2020, arXiv:2008.04838). frames uint8 [N, window,
// 27, 48, 3], RGB -> logits float32 [N, window] of a cut behind each frame. Tensors as in the
// PyTorch port: SDDCNN.L.DDCNN.B.Conv3D_D.layers.{0,1}, .bn, frame_sim_layer.{projection,fc},
// color_hist_layer.fc, fc1, cls_layer1 (cls_layer2 is for training). Options: "window", frames.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

constexpr int64_t height = 27, width = 48;
constexpr int64_t lookup =
    101;  ///< how many neighbours each frame is compared with, itself included
constexpr int64_t narrow = 128, hidden = 1024;

class Builder {
 public:
  Builder(const Weights& weights, Program& program, int64_t window)
      : weights_(weights), program_(program), window_(window) {}

  Var logits(Var frames) const {
    Var x = apply("cast", {frames}, {{"to", "float32"}});
    const Var colours = neighbours(histograms(x), "color_hist_layer.fc");
    x = mul(transpose(x, {0, 4, 1, 2, 3}), number(1.0F / 255));
    Vars means;
    int64_t in = 3;
    for (int64_t layer = 0; layer < 3; ++layer) {
      const int64_t filters = int64_t{16} << layer;
      x = stack(x, concat("SDDCNN.", layer, ".DDCNN."), in, filters);
      in = 4 * filters;
      means.push_back(apply("reduce_mean", {x, axes({3, 4})}, {{"keepdims", int64_t{0}}}));
    }
    const Var all = transpose(apply("concat", means, {{"axis", int64_t{1}}}), {0, 2, 1});
    const Var alike = neighbours(unit(linear(all, "frame_sim_layer.projection", -1, narrow)),
                                 "frame_sim_layer.fc");
    // [N, C, T, 3, 6] to [N, T, 18 C]
    const Var places = reshape(transpose(x, {0, 2, 3, 4, 1}), {0, window_, 3 * 6 * in});
    x = apply("concat", {colours, alike, places}, {{"axis", int64_t{2}}});
    x = unary("relu", linear(x, "fc1", -1, hidden));
    return reshape(linear(x, "cls_layer1", hidden, 1), {0, window_});
  }

 private:
  Var number(float value) const { return constant(program_, Tensor::scalar(value)); }
  Var axes(std::vector<int64_t> list) const { return constant(program_, Tensor::ints(list)); }

  Var linear(Var x, const std::string& name, int64_t in, int64_t out) const {
    return matmul(x, weights_.take(name + ".weight", {out, in}),
                  weights_.take(name + ".bias", {out}), false, true);
  }

  /// Vectors along the last dimension, made as long as 1.
  Var unit(Var x) const {
    const Var squares = apply("reduce_sum", {mul(x, x), axes({-1})});
    return apply("div", {x, apply("max", {unary("sqrt", squares), number(1e-12F)})});
  }

  /// A convolution over the picture, then one over time with every `dilation`-th frame.
  Var separable(Var x, const std::string& name, int64_t in, int64_t filters,
                int64_t dilation) const {
    x = conv(
        x, weights_.take(name + ".layers.0.weight", {2 * filters, in, 1, 3, 3}), {},
        {.strides = {}, .pads = {0, 1, 1, 0, 1, 1}, .dilations = {}, .group = 1, .auto_pad = ""});
    return conv(x, weights_.take(name + ".layers.1.weight", {filters, 2 * filters, 3, 1, 1}), {},
                {.strides = {},
                 .pads = {dilation, 0, 0, dilation, 0, 0},
                 .dilations = {dilation, 1, 1},
                 .group = 1,
                 .auto_pad = ""});
  }

  Var block(Var x, const std::string& name, int64_t in, int64_t filters) const {
    Vars branches;
    for (const int64_t dilation : {1, 2, 4, 8})
      branches.push_back(separable(x, concat(name, ".Conv3D_", dilation), in, filters, dilation));
    const auto norm = [&](const char* part) {
      return weights_.take(concat(name, ".bn.", part), {4 * filters});
    };
    return batch_norm(apply("concat", branches, {{"axis", int64_t{1}}}), norm("weight"),
                      norm("bias"), norm("running_mean"), norm("running_var"), 1e-3);
  }

  Var stack(Var x, const std::string& name, int64_t in, int64_t filters) const {
    const Var first = unary("relu", block(x, name + "0", in, filters));
    const Var second = unary("relu", block(first, name + "1", 4 * filters, filters));
    return pool(add(second, first),
                {.kind = "avg", .kernel = {1, 2, 2}, .strides = {1, 2, 2}, .pads = {}});
  }

  /// The pixels of each frame counted by colour, eight steps a channel: [N, T, 512], of length 1.
  Var histograms(Var frames) const {
    const int64_t pixels = height * width;
    const Var steps = unary("floor", mul(frames, number(1.0F / 32)));
    const Var which =
        matmul(steps, constant(program_, Tensor::floats({3, 1}, {64, 8, 1})));  // exact
    const Var index = apply("cast", {reshape(which, {0, window_, pixels})}, {{"to", "int64"}});
    const Var batch = apply("shape", {frames}, {{"end", int64_t{1}}});
    const auto filled = [&](float value, int64_t last) {
      const Var shape = apply("concat", {batch, axes({window_, last})}, {{"axis", int64_t{0}}});
      return apply("expand", {number(value), shape});
    };
    return unit(apply("scatter_elements", {filled(0, 512), index, filled(1, pixels)},
                      {{"axis", int64_t{2}}, {"reduction", "add"}}));
  }

  /// How much each frame is like those around it, through a layer: x [N, T, F] -> [N, T, 128].
  Var neighbours(Var x, const std::string& name) const {
    const int64_t side = (lookup - 1) / 2, row = window_ + 2 * side;
    const Var alike = matmul(x, x, {}, false, true);
    const Var padded = apply("pad", {alike, axes({0, 0, side, 0, 0, side})});
    // Rows that are one longer shift each by one more: row t begins at its t-th number.
    const Var flat = reshape(padded, {0, window_ * row});
    const Var longer = apply("pad", {flat, axes({0, 0, 0, window_})});
    const Var shifted = reshape(longer, {0, window_, row + 1});
    const Var near = apply("slice", {shifted, axes({0}), axes({lookup}), axes({2})});
    return unary("relu", linear(near, name, lookup, narrow));
  }

  const Weights& weights_;
  Program& program_;
  int64_t window_;
};

}  // namespace

Program build_transnet_v2(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of transnet-v2");
  const int64_t window = fields.integer("window", 1, 1000);
  fields.done();
  Program program;
  program.name = "transnet-v2";
  const Weights weights(tensors, program);
  const Var frames{&program,
                   program.add_input("frames", {DType::u8, {-1, window, height, width, 3}})};
  const Var logits = Builder(weights, program, window).logits(frames);
  program.rename(logits.id, "logits");
  program[logits.id].declared = {DType::f32, {-1, window}};
  program.outputs = {logits.id};
  return program;
}

}  // namespace hub
