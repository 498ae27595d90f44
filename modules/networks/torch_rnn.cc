#include "modules/networks/torch_rnn.h"

#include <span>

namespace hub {
namespace {

std::vector<float> reordered(const std::vector<float>& from, std::span<const size_t> order) {
  const size_t gate = from.size() / order.size();
  std::vector<float> to;
  to.reserve(from.size());
  for (const size_t g : order) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(g * gate);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(gate));
  }
  return to;
}

}  // namespace

std::vector<float> lstm_gates(Var torch) {
  constexpr size_t order[] = {0, 3, 1, 2};
  return reordered(torch.constant().to_floats(), order);
}

std::vector<float> gru_gates(Var torch) {
  constexpr size_t order[] = {1, 0, 2};
  return reordered(torch.constant().to_floats(), order);
}

}  // namespace hub
