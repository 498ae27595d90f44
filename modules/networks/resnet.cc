// ResNet (He et al. 2015, arXiv:1512.03385; bottlenecks with the stride on the 3x3 convolution), 18
// to 152 layers. Tensor names as in torchvision; the widths are those of the tensors.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/networks/conv_norm.h"

namespace hub {
namespace {

Picture relu(Picture x) { return {unary("relu", x.var), x.channels}; }

Picture block(const Weights& weights, Picture x, const std::string& name, bool bottleneck,
              int64_t stride) {
  const auto part = [&](Picture y, int number, const ConvNorm& how) {
    return conv_norm(weights, y, concat(name, "conv", number), concat(name, "bn", number), how);
  };
  Picture y = x;
  if (bottleneck) {
    y = relu(part(y, 1, {}));
    y = relu(part(y, 2, {.kernel = 3, .stride = stride}));
    y = part(y, 3, {});
  } else {
    y = relu(part(y, 1, {.kernel = 3, .stride = stride}));
    y = part(y, 2, {.kernel = 3});
  }
  if (stride != 1 || y.channels != x.channels)
    x = conv_norm(weights, x, name + "downsample.0", name + "downsample.1", {.stride = stride});
  if (y.channels != x.channels) {
    fail(Code::refused, "'", name, "': ", y.channels, " channels meet a shortcut of ", x.channels);
  }
  return relu({add(y.var, x.var), y.channels});
}

}  // namespace

/// Options: "layers", the blocks of each stage, and "block", "basic" or "bottleneck"; [3, 4, 6, 3]
/// of bottlenecks is ResNet-50. Input [N, 3, H, W] of RGB, output logits [N, classes].
Program build_resnet(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of resnet");
  const bool bottleneck = fields.choice("block", {"basic", "bottleneck"}) == "bottleneck";
  const json& layers = fields.list("layers", 8);
  for (const json& count : layers) {
    if (!count.is_number_unsigned() || count > 1000 || count == 0)
      fields.refuse("layers", "is not a list of whole numbers from 1 to 1000");
  }
  if (layers.empty()) fields.refuse("layers", "is missing or empty");
  fields.done();

  Program program;
  program.name = "resnet";
  const Weights weights(tensors, program);
  Picture x{{&program, program.add_input("image", {DType::f32, {-1, 3, -1, -1}})}, 3};
  x = relu(conv_norm(weights, x, "conv1", "bn1", {.kernel = 7, .stride = 2}));
  x.var = pool(x.var, {.kind = "max", .kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}});
  for (size_t stage = 0; stage < layers.size(); ++stage) {
    for (int i = 0; i < layers[stage].get<int>(); ++i) {
      x = block(weights, x, concat("layer", stage + 1, ".", i, "."), bottleneck,
                i == 0 && stage > 0 ? 2 : 1);
    }
  }
  program.outputs = {pooled_classifier(weights, x, "fc").id};
  return program;
}

}  // namespace hub
