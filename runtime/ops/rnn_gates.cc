#include "runtime/ops/rnn_gates.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

using Kind = GateFunction::Kind;

struct Known {
  std::string_view name;
  Kind kind;
  int parameters;  // alpha, then beta
  float alpha, beta;
};
constexpr Known known[] = {{"sigmoid", Kind::sigmoid, 0, 0, 0},
                           {"tanh", Kind::tanh, 0, 0, 0},
                           {"relu", Kind::relu, 0, 0, 0},
                           {"affine", Kind::affine, 2, 1, 0},
                           {"leakyrelu", Kind::leaky_relu, 1, 0.01F, 0},
                           {"thresholdedrelu", Kind::thresholded_relu, 1, 1, 0},
                           {"scaledtanh", Kind::scaled_tanh, 2, 1, 1},
                           {"hardsigmoid", Kind::hard_sigmoid, 2, 0.2F, 0.5F},
                           {"elu", Kind::elu, 1, 1, 0},
                           {"softsign", Kind::softsign, 0, 0, 0},
                           {"softplus", Kind::softplus, 0, 0, 0}};

}  // namespace

template <class T>
T GateFunction::operator()(T x) const {
  const T a = alpha, b = beta, limit = clip;
  if (limit > 0) x = std::clamp(x, -limit, limit);
  switch (kind) {
    case Kind::sigmoid: return 1 / (1 + std::exp(-x));
    case Kind::tanh: return std::tanh(x);
    case Kind::relu: return std::max(x, T{0});
    case Kind::affine: return a * x + b;
    case Kind::leaky_relu: return x < 0 ? a * x : x;
    case Kind::thresholded_relu: return x > a ? x : 0;
    case Kind::scaled_tanh: return a * std::tanh(b * x);
    case Kind::hard_sigmoid: return std::clamp(a * x + b, T{0}, T{1});
    case Kind::elu: return x < 0 ? a * std::expm1(x) : x;
    case Kind::softsign: return x / (1 + std::fabs(x));
    case Kind::softplus: return x > 20 ? x : std::log1p(std::exp(x));
  }
  return x;
}
template float GateFunction::operator()(float) const;
template double GateFunction::operator()(double) const;

template <class T>
T GateFunction::slope(T x) const {
  const T a = alpha, b = beta, limit = clip;
  if (limit > 0 && (x < -limit || x > limit)) return 0;
  const T y = (*this)(x);
  switch (kind) {
    case Kind::sigmoid: return y * (1 - y);
    case Kind::tanh: return 1 - y * y;
    case Kind::relu: return x > 0 ? 1 : 0;
    case Kind::affine: return a;
    case Kind::leaky_relu: return x < 0 ? a : 1;
    case Kind::thresholded_relu: return x > a ? 1 : 0;
    case Kind::scaled_tanh: return b * (a - y * y / a);
    case Kind::hard_sigmoid: return a * x + b > 0 && a * x + b < 1 ? a : 0;
    case Kind::elu: return x < 0 ? y + a : 1;
    case Kind::softsign: return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
    case Kind::softplus: return 1 / (1 + std::exp(-x));
  }
  return 1;
}
template float GateFunction::slope(float) const;
template double GateFunction::slope(double) const;

std::vector<std::vector<GateFunction>> gate_functions(const Attrs& attrs,
                                                      const std::vector<std::string>& defaults,
                                                      int64_t directions) {
  const size_t each = defaults.size();
  std::vector<std::string> names = attrs.strings("activations");
  for (int64_t d = 0; attrs.strings("activations").empty() && d < directions; ++d) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != each * static_cast<size_t>(directions)) {
    fail(Code::refused, "'activations' holds ", names.size(), " names where ",
         each * static_cast<size_t>(directions), " are wanted");
  }
  const auto alphas = attrs.floats("activation_alpha");
  const auto betas = attrs.floats("activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<std::vector<GateFunction>> all(static_cast<size_t>(directions));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = lower_ascii(names[i]);
    const auto* k = std::find_if(std::begin(known), std::end(known),
                                 [&](const Known& x) { return x.name == name; });
    if (k == std::end(known)) fail(Code::unsupported, "unknown activation '", names[i], "'");
    GateFunction f{k->kind, k->alpha, k->beta, static_cast<float>(attrs.f("clip", 0))};
    if (k->parameters > 0 && next_alpha < alphas.size())
      f.alpha = static_cast<float>(alphas[next_alpha++]);
    if (k->parameters > 1 && next_beta < betas.size())
      f.beta = static_cast<float>(betas[next_beta++]);
    all[i / each].push_back(f);
  }
  return all;
}

}  // namespace hub
