// The oracle of passes and devices: a program run call by call with the reference kernels, as it
// was written.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/op.h"

namespace hub {

inline std::vector<Tensor> plain_run(const Program& p, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(p.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = p.values[i].constant;
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(p.inputs[i])] = inputs[i];
  for (const OpCall& call : p.ops) {
    std::vector<const Tensor*> in;
    for (ValueId id : call.in)
      in.push_back(id == absent ? nullptr : &values[static_cast<size_t>(id)]);
    const auto out = run_reference(*call.op, call.attrs, in);
    for (size_t i = 0; i < call.out.size(); ++i) {
      if (call.out[i] != absent) values[static_cast<size_t>(call.out[i])] = out.at(i);
    }
  }
  std::vector<Tensor> out;
  for (ValueId id : p.outputs) out.push_back(values[static_cast<size_t>(id)]);
  return out;
}

/// Largest difference, each against max(1, |wanted|); infinite when type, shape, NaNs or strings
/// differ.
inline double difference(const Tensor& found, const Tensor& wanted) {
  if (found.spec() != wanted.spec()) return INFINITY;
  if (found.dtype() == DType::none) return 0;
  if (found.dtype() == DType::string)
    return std::ranges::equal(found.values<std::string>(), wanted.values<std::string>()) ? 0
                                                                                         : INFINITY;
  if (found.dtype() == DType::list) {
    const auto& items = found.items();
    if (items.size() != wanted.items().size()) return INFINITY;
    double most = 0;
    for (size_t i = 0; i < items.size(); ++i)
      most = std::max(most, difference(items[i], wanted.items()[i]));
    return most;
  }
  const auto a = found.to_floats();
  const auto b = wanted.to_floats();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double d = std::fabs(a[i] - b[i]) / std::max(1.0, std::fabs(static_cast<double>(b[i])));
    worst = d <= worst ? worst : std::isnan(d) ? INFINITY : d;
  }
  return worst;
}

}  // namespace hub
