// pad of floats in rows: what lies inside is copied, and only the border is looked up.
#include "runtime/ops/pad.h"

#include <cstring>
#include <memory>

#include "runtime/device/onednn/onednn.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

struct Padding {
  Shape to;
  PadOffsets offsets;
  size_t last = 0;
  /// The longest run of positions of the last dimension that lie in x one behind the other.
  int64_t run = 0, length = 0;

  /// Where row `row` of the result begins in x, or -1 for one of constants.
  int64_t begin(int64_t row) const {
    int64_t start = 0;
    for (size_t d = last; d-- > 0; row /= to[d]) {
      const int64_t at = offsets[d][static_cast<size_t>(row % to[d])];
      if (at < 0) return -1;
      start += at;
    }
    return start;
  }

  void copy_row(const float* x, float constant, int64_t row, float* y) const {
    const int64_t start = begin(row);
    const std::vector<int64_t>& at = offsets[last];
    const auto width = static_cast<int64_t>(at.size());
    if (start < 0) {
      std::fill_n(y, width, constant);
      return;
    }
    const auto border = [&](int64_t from, int64_t end) {
      for (int64_t i = from; i < end; ++i) {
        const int64_t place = at[static_cast<size_t>(i)];
        y[i] = place < 0 ? constant : x[start + place];
      }
    };
    border(0, run);
    if (length > 0) {
      std::memcpy(y + run, x + start + at[static_cast<size_t>(run)],
                  static_cast<size_t>(length) * sizeof(float));
    }
    border(run + length, width);
  }
};

}  // namespace

std::optional<Prepared> prepare_pad(const OpCall& call, std::span<const Operand> in,
                                    std::span<const Spec> out) {
  const auto known = [&](size_t i) { return i >= in.size() || !in[i].present || in[i].constant; };
  if (!all_float(in.subspan(0, 1), out) || out[0].shape.rank() == 0 || !known(1) || !known(3))
    return {};
  std::vector<int64_t> axes;
  const bool some = in.size() > 3 && in[3].present;
  if (some) axes = in[3].constant->to_ints();
  const auto pad = std::make_shared<Padding>();
  pad->to = out[0].shape;
  pad->last = pad->to.rank() - 1;
  pad->offsets = pad_offsets(call.attrs, in[0].spec.shape, pad->to, in[1].constant->to_ints(),
                             some ? &axes : nullptr);
  const std::vector<int64_t>& at = pad->offsets[pad->last];
  for (size_t i = 0, begin = 0; i < at.size(); ++i) {
    if (at[i] < 0 || (i > begin && at[i] != at[i - 1] + 1)) begin = at[i] < 0 ? i + 1 : i;
    const auto length = static_cast<int64_t>(i + 1 - std::min(begin, i + 1));
    if (length <= pad->length) continue;
    pad->length = length;
    pad->run = static_cast<int64_t>(begin);
  }
  const bool filled = in.size() > 2 && in[2].present;
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out = {nullptr};
  p.how = "loop";
  p.bind = [pad, filled](const Places& at) -> Step {
    const auto* x = static_cast<const float*>(at.in[0]);
    const auto* constant = filled ? static_cast<const float*>(at.in[2]) : nullptr;
    auto* y = static_cast<float*>(at.out[0]);
    return [pad, x, constant, y] {
      const float value = constant != nullptr ? *constant : 0;
      const int64_t width = pad->to.back();
      const int64_t rows = width == 0 ? 0 : pad->to.numel() / width;
#pragma omp parallel for if (rows * width >= worth_a_thread)
      for (int64_t row = 0; row < rows; ++row) pad->copy_row(x, value, row, y + row * width);
    };
  };
  return p;
}

}  // namespace hub::onednn
