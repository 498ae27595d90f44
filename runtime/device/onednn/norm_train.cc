// Batch norm by the statistics of the batch, with what was fused to it, and its gradient: pictures
// in blocks.
#include <cmath>
#include <limits>

#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {
namespace {

/// Nothing when the first input is not a picture, or not all are float32.
std::optional<BatchNorm> read(const OpCall& call, std::span<const Operand> in) {
  const Shape& x = in[0].spec.shape;
  if (x.rank() < 3 || x.rank() > 5 || !all_float(in, {})) return {};
  BatchNorm how;
  how.shape = {x[0], x[1], x.numel(2, x.rank()), channel_block()};
  how.epsilon = static_cast<float>(call.attrs.f("epsilon", 1e-5));
  how.momentum = static_cast<float>(call.attrs.f("momentum", 0.9));
  how.bounds = {static_cast<float>(call.attrs.f("low", -INFINITY)),
                static_cast<float>(call.attrs.f("high", INFINITY))};
  return how;
}

Prepared in_blocks(const OpCall& call, std::span<const Operand> in, const BatchNorm& how) {
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = image_layout(in[0].spec.shape);
  p.out.assign(call.out.size(), nullptr);
  p.out[0] = p.in[0];
  p.scratch = static_cast<size_t>(batch_norm_scratch(how.shape)) * sizeof(double);
  p.how = "loop";
  return p;
}

const float* input(const Places& at, size_t i) {
  return i < at.in.size() ? static_cast<const float*>(at.in[i]) : nullptr;
}
float* output(const Places& at, size_t i) {
  return i < at.out.size() ? static_cast<float*>(at.out[i]) : nullptr;
}

}  // namespace

std::optional<Prepared> prepare_batch_norm_train(const OpCall& call, std::span<const Operand> in,
                                                 std::span<const Spec>) {
  const auto how = read(call, in);
  if (!how) return {};
  Prepared p = in_blocks(call, in, *how);
  const bool residual = in.size() > 5 && in[5].present;
  if (residual) p.in[5] = p.in[0];
  p.in_place = {residual ? 5 : -1, -1, -1, 3, 4};
  p.bind = [how = *how](const Places& at) -> Step {
    return [=] {
      batch_norm_train(how, input(at, 0), input(at, 1), input(at, 2), input(at, 3), input(at, 4),
                       input(at, 5), output(at, 0), output(at, 1), output(at, 2), output(at, 3),
                       output(at, 4), static_cast<double*>(at.scratch));
    };
  };
  return p;
}

std::optional<Prepared> prepare_batch_norm_again(const OpCall& call, std::span<const Operand> in,
                                                 std::span<const Spec>) {
  const auto how = read(call, in);
  if (!how) return {};
  Prepared p = in_blocks(call, in, *how);
  p.scratch = 0;
  p.bind = [how = *how](const Places& at) -> Step {
    return [=] {
      batch_norm_again(how, input(at, 0), input(at, 1), input(at, 2), input(at, 3), input(at, 4),
                       output(at, 0));
    };
  };
  return p;
}

std::optional<Prepared> prepare_batch_norm_grad(const OpCall& call, std::span<const Operand> in,
                                                std::span<const Spec>) {
  auto how = read(call, in);
  if (!how) return {};
  // With the bias comes what stands behind the norm.
  const bool held = in.size() == 6;
  // Nothing passes at a bound itself.
  Bounds& inside = how->bounds;
  inside.low =
      inside.low == 0 ? std::numeric_limits<float>::min() : std::nextafter(inside.low, INFINITY);
  inside.high = std::nextafter(inside.high, -INFINITY);
  Prepared p = in_blocks(call, in, *how);
  p.in[1] = p.in[0];
  p.in_place = {1};
  p.bind = [how = *how, held](const Places& at) -> Step {
    return [=] {
      const size_t mean = held ? 4 : 3;
      batch_norm_grad(how, input(at, 0), input(at, 1), input(at, 2), held ? input(at, 3) : nullptr,
                      input(at, mean), input(at, mean + 1), output(at, 0), output(at, 1),
                      output(at, 2), static_cast<double*>(at.scratch));
    };
  };
  return p;
}

}  // namespace hub::onednn
