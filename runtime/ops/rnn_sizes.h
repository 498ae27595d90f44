// The sizes and default activations of ONNX's recurrent layers.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/tensor.h"

namespace hub {

enum class RnnKind { rnn, gru, lstm };

inline int64_t gates_of(RnnKind kind) {
  return kind == RnnKind::rnn ? 1 : kind == RnnKind::gru ? 3 : 4;
}

struct RnnSizes {
  int64_t steps, batch, features, hidden, directions, gates;
  bool batch_first;
  Spec spec(DType dtype, bool all_steps) const {
    if (!all_steps)
      return {dtype,
              batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden}};
    return {dtype, batch_first ? Shape{batch, steps, directions, hidden}
                               : Shape{steps, directions, batch, hidden}};
  }
};

inline RnnSizes rnn_sizes(RnnKind kind, const Attrs& attrs, const Shape& x, const Shape& r) {
  const std::string direction = attrs.s("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    fail(Code::refused, "'direction' is '", direction, "'");
  }
  const bool batch_first = attrs.i("layout", 0) != 0;
  return {.steps = x[batch_first ? 1 : 0],
          .batch = x[batch_first ? 0 : 1],
          .features = x[2],
          .hidden = r[2],
          .directions = direction == "bidirectional" ? 2 : 1,
          .gates = gates_of(kind),
          .batch_first = batch_first};
}

inline std::vector<std::string> rnn_functions(RnnKind kind) {
  if (kind == RnnKind::rnn) return {"Tanh"};
  if (kind == RnnKind::gru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

}  // namespace hub
