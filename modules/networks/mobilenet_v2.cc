// MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381): inverted bottlenecks with ReLU6. Tensor
// names as in torchvision; the widths are those of the tensors, so that every width multiplier
// fits.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/networks/conv_norm.h"

namespace hub {
namespace {

struct Stage {
  int repeats;
  int64_t stride;
};
constexpr Stage stages[] = {{1, 1}, {2, 2}, {3, 2}, {4, 2}, {3, 1}, {3, 2}, {1, 1}};

Picture relu6(Picture x) { return {clip(x.var, 0, 6), x.channels}; }

/// Widen (all blocks but the first), filter by channel, narrow.
Picture block(const Weights& weights, Picture x, const std::string& name, bool widens,
              int64_t stride) {
  Picture y = x;
  if (widens) y = relu6(conv_norm(weights, y, name + "0.0", name + "0.1", {}));
  const std::string filter = name + (widens ? "1" : "0");
  y = relu6(conv_norm(weights, y, filter + ".0", filter + ".1",
                      {.kernel = 3, .stride = stride, .depthwise = true}));
  y = conv_norm(weights, y, name + (widens ? "2" : "1"), name + (widens ? "3" : "2"), {});
  if (stride == 1 && y.channels == x.channels) y.var = add(x.var, y.var);
  return y;
}

}  // namespace

/// No options. Input [N, 3, H, W] of RGB, output logits [N, classes].
Program build_mobilenet_v2(const NamedTensors& tensors, const json& config) {
  Fields(config, "options of mobilenet_v2").done();
  Program program;
  program.name = "mobilenet_v2";
  const Weights weights(tensors, program);
  const auto stem = [&](Picture x, const std::string& name, const ConvNorm& how) {
    return relu6(conv_norm(weights, x, name + ".0", name + ".1", how));
  };
  Picture x{{&program, program.add_input("image", {DType::f32, {-1, 3, -1, -1}})}, 3};
  x = stem(x, "features.0", {.kernel = 3, .stride = 2});
  int number = 1;
  for (const Stage& stage : stages) {
    for (int i = 0; i < stage.repeats; ++i, ++number) {
      x = block(weights, x, concat("features.", number, ".conv."), number > 1,
                i == 0 ? stage.stride : 1);
    }
  }
  x = stem(x, concat("features.", number), {});
  program.outputs = {pooled_classifier(weights, x, "classifier.1").id};
  return program;
}

}  // namespace hub
