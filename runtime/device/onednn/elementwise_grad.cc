// Gradients of elementwise operators in whatever layout the data has, and updates.
#include <cmath>

#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {
namespace {

const float* input(const Places& at, size_t i) { return static_cast<const float*>(at.in[i]); }
float* output(const Places& at, size_t i) {
  return i < at.out.size() ? static_cast<float*>(at.out[i]) : nullptr;
}

}  // namespace

std::optional<Prepared> prepare_slope(const OpCall& call, std::span<const Operand> in,
                                      std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const std::string_view name = call.op->name;
  const auto attr = [&](const char* key, double fallback) {
    return static_cast<float>(call.attrs.f(key, fallback));
  };
  Slope kind = Slope::relu;
  float a = 0;
  float b = 0;
  if (name == "leaky_relu_grad") {
    kind = Slope::leaky_relu;
    a = attr("alpha", 0.01);
  } else if (name == "clip_grad") {
    kind = Slope::clip;
    a = -INFINITY;
    b = INFINITY;
    for (size_t i = 2; i < in.size(); ++i) {
      if (!in[i].present) continue;
      if (in[i].constant == nullptr) return {};
      (i == 2 ? a : b) = *in[i].constant->data<float>();
    }
  } else if (name == "sigmoid_grad") {
    kind = Slope::sigmoid;
  } else if (name == "tanh_grad") {
    kind = Slope::tanh;
  } else if (name == "hard_sigmoid_grad") {
    kind = Slope::hard_sigmoid;
    a = attr("alpha", 0.2);
    b = attr("beta", 0.5);
  } else if (name == "hard_swish_grad") {
    kind = Slope::hard_swish;
  } else if (name == "swish_grad") {
    kind = Slope::swish;
    a = attr("beta", 1);
  } else if (name == "gelu_grad") {
    if (call.attrs.s("approximate", "none") != "none") return {};
    kind = Slope::gelu;
  }
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = p.in[1] = in[1].layout ? in[1].layout : in[0].layout;
  p.out = {p.in[0]};
  p.in_place = {1};
  p.how = "loop";
  const auto count = static_cast<int64_t>(layout_bytes(p.in[0], out[0]) / sizeof(float));
  p.bind = [=](const Places& at) -> Step {
    return [=] { slope(kind, a, b, input(at, 0), input(at, 1), output(at, 0), count); };
  };
  return p;
}

std::optional<Prepared> prepare_update(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  const std::string_view name = call.op->name;
  if (!all_float(in.subspan(0, name == "adam" ? 6 : in.size()), out)) return {};
  const Prepared plain = open_device("reference").prepare(call, in, out);
  const int64_t count = out[0].shape.numel();
  const auto attr = [&](const char* key, double fallback) {
    return static_cast<float>(call.attrs.f(key, fallback));
  };
  const float factor = attr("rate_factor", 1);
  const float decay = attr("weight_decay", 0);
  const float mu = attr("momentum", 0.9);
  const bool nesterov = call.attrs.i("nesterov", 0) != 0;
  const double beta1 = call.attrs.f("beta1", 0.9);
  const double beta2 = call.attrs.f("beta2", 0.999);
  const float epsilon = attr("epsilon", 1e-8);
  const bool decoupled = call.attrs.i("decoupled", 0) != 0;
  Prepared p = plain;
  p.how = "loop";
  p.bind = [=](const Places& at) -> Step {
    // A scale that is not finite leaves everything as it was: as the reference does it.
    return [=, unchanged = plain.bind(at)] {
      const float rate = *input(at, 2) * factor;
      const float scale = *input(at, 3);
      if (!std::isfinite(scale)) return unchanged();
      if (name == "sgd") {
        sgd(rate, scale, decay, input(at, 0), input(at, 1), output(at, 0), count);
      } else if (name == "momentum") {
        momentum(rate, scale, decay, mu, nesterov, input(at, 0), input(at, 1), input(at, 4),
                 output(at, 0), output(at, 1), count);
      } else {
        const auto step = static_cast<double>(*static_cast<const int64_t*>(at.in[6]));
        const AdamStep how{rate,
                           scale,
                           decay,
                           static_cast<float>(beta1),
                           static_cast<float>(beta2),
                           epsilon,
                           static_cast<float>(1 / (1 - std::pow(beta1, step))),
                           static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, step))),
                           decoupled};
        adam(how, input(at, 0), input(at, 1), input(at, 4), input(at, 5), output(at, 0),
             output(at, 1), output(at, 2), count);
      }
    };
  };
  return p;
}

}  // namespace hub::onednn
