#include "modules/networks/conv_norm.h"

namespace hub {

Picture conv_norm(const Weights& weights, Picture x, const std::string& conv_name,
                  const std::string& norm_name, const ConvNorm& how) {
  const Var w = weights.take(
      conv_name + ".weight",
      {how.depthwise ? x.channels : -1, how.depthwise ? 1 : x.channels, how.kernel, how.kernel});
  const int64_t out = w.constant().shape()[0];
  const int64_t pad = (how.kernel - 1) / 2;
  const Var y = conv(x.var, w, {},
                     {.strides = {how.stride, how.stride},
                      .pads = {pad, pad, pad, pad},
                      .dilations = {},
                      .group = how.depthwise ? out : 1,
                      .auto_pad = {}});
  const auto part = [&](const char* what) { return weights.take(norm_name + what, {out}); };
  return {batch_norm(y, part(".weight"), part(".bias"), part(".running_mean"), part(".running_var"),
                     1e-5),
          out};
}

Var pooled_classifier(const Weights& weights, Picture x, const std::string& name) {
  const Var w = weights.take(name + ".weight", {-1, x.channels});
  const int64_t classes = w.constant().shape()[0];
  const Var bias = weights.take(name + ".bias", {classes});
  const Var logits = matmul(reshape(global_average(x.var), {0, x.channels}), w, bias, false, true);
  (*logits.program)[logits.id].declared = {DType::f32, {-1, classes}};
  return logits;
}

}  // namespace hub
