// EfficientNet-lite 0 to 4 (Tan and Le 2019, arXiv:1905.11946, in the "lite" form of TensorFlow's
// TPU models): inverted bottlenecks without squeeze-and-excitation, ReLU6, TensorFlow's SAME
// padding. Tensor names as in the PyTorch ports.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

struct Variant {
  double width, depth;  ///< multipliers of channels and of repeats
};
const std::map<std::string, Variant> variants = {{"lite0", {1.0, 1.0}},
                                                 {"lite1", {1.0, 1.1}},
                                                 {"lite2", {1.1, 1.2}},
                                                 {"lite3", {1.2, 1.4}},
                                                 {"lite4", {1.4, 1.8}}};

struct Stage {
  int repeats, kernel, stride, expand, channels;
};
constexpr Stage stages[] = {{1, 3, 1, 1, 16}, {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40},
                            {3, 3, 2, 6, 80}, {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192},
                            {1, 3, 1, 6, 320}};
constexpr int64_t stem_channels = 32, head_channels = 1280;  // the lite networks do not scale these

/// Channels scaled and rounded to a multiple of 8, by at most a tenth downwards.
int64_t scaled(int channels, double width) {
  const double wanted = channels * width;
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

class Builder {
 public:
  explicit Builder(const Weights& weights) : weights_(weights) {}

  /// Convolution and its batch norm; `group` is 1 or, for a depthwise one, `out`.
  Var conv_norm(Var x, const std::string& conv_name, const std::string& norm_name, int64_t in,
                int64_t out, int64_t kernel, int64_t stride, int64_t group) const {
    const Var w = weights_.take(conv_name + ".weight", {out, in / group, kernel, kernel});
    x = conv(x, w, {},
             {.strides = {stride, stride},
              .pads = {},
              .dilations = {},
              .group = group,
              .auto_pad = "same_upper"});
    const auto norm = [&](const char* part) { return weights_.take(norm_name + part, {out}); };
    return batch_norm(x, norm(".weight"), norm(".bias"), norm(".running_mean"),
                      norm(".running_var"), 1e-3);
  }

  Var block(Var x, const std::string& name, int64_t in, int64_t out, const Stage& stage,
            int64_t stride) const {
    const int64_t wide = in * stage.expand;
    Var y = x;
    if (stage.expand != 1) {
      y = clip(conv_norm(y, name + "_expand_conv", name + "_bn0", in, wide, 1, 1, 1), 0, 6);
    }
    y = clip(conv_norm(y, name + "_depthwise_conv", name + "_bn1", wide, wide, stage.kernel, stride,
                       wide),
             0, 6);
    y = conv_norm(y, name + "_project_conv", name + "_bn2", wide, out, 1, 1, 1);
    return stride == 1 && in == out ? add(y, x) : y;
  }

  Var network(Var x, const Variant& variant) const {
    x = clip(conv_norm(x, "_conv_stem", "_bn0", 3, stem_channels, 3, 2, 1), 0, 6);
    int64_t in = stem_channels;
    int number = 0;
    for (const Stage& stage : stages) {
      const bool ends = &stage == std::begin(stages) || &stage == std::end(stages) - 1;
      const int repeats =
          ends ? stage.repeats : static_cast<int>(std::ceil(variant.depth * stage.repeats));
      const int64_t out = scaled(stage.channels, variant.width);
      for (int i = 0; i < repeats; ++i, ++number, in = out) {
        x = block(x, concat("_blocks.", number, "."), in, out, stage, i == 0 ? stage.stride : 1);
      }
    }
    x = clip(conv_norm(x, "_conv_head", "_bn1", in, head_channels, 1, 1, 1), 0, 6);
    x = reshape(global_average(x), {0, head_channels});
    const Var w = weights_.take("_fc.weight", {-1, head_channels});
    return matmul(x, w, weights_.take("_fc.bias", {w.constant().shape()[0]}), false, true);
  }

 private:
  const Weights& weights_;
};

}  // namespace

/// Options: "variant", "lite0" to "lite4". Input [N, 3, H, W] of RGB, output logits [N, classes].
Program build_efficientnet_lite(const NamedTensors& tensors, const json& config) {
  std::vector<std::string> names;
  for (const auto& [name, variant] : variants) names.push_back(name);
  Fields fields(config, "options of efficientnet-lite");
  const std::string variant = fields.choice("variant", names);
  fields.done();

  Program program;
  program.name = "efficientnet-" + variant;
  const Var x{&program, program.add_input("image", {DType::f32, {-1, 3, -1, -1}})};
  const Weights weights(tensors, program);
  const Var logits = Builder(weights).network(x, variants.at(variant));
  program[logits.id].declared = {DType::f32,
                                 {-1, program[program.find("_fc.bias")].constant.shape()[0]}};
  program.outputs = {logits.id};
  return program;
}

}  // namespace hub
