// A task of texts through an encoder: how batches are made and run; the task itself says what the
// numbers mean.
#pragma once

#include "modules/text_encoder.h"

namespace hub {

class TextTask : public Task {
 public:
  explicit TextTask(Module& module) : module_(module), encoder_(module) {}
  InputKind input() const override { return InputKind::text; }
  size_t batch() const override { return most_rows; }
  std::vector<Tensor> encode(std::span<const Sample> samples) override;
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;

 protected:
  /// The network's first output, which must be float32 [samples, width].
  std::span<const float> rows(std::span<const Tensor> outputs, size_t samples, size_t width) const;
  Module& module_;
  TextEncoder encoder_;

 private:
  static constexpr size_t most_rows = 32;
};

}  // namespace hub
