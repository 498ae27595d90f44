// Paddle's 2.x recurrent layers (the cudnn-style `rnn` operator) as calls of rnn, gru and lstm.
#pragma once

#include "runtime/import/node.h"

namespace hub {

/// Input [T, B, I], PreState, WeightList (constant), SequenceLength? -> Out [T, B, directions * H].
void paddle_rnn(ImportNode& node);

}  // namespace hub
