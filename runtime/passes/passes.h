// Rewrites of programs that keep their meaning. optimize() is done once a network and may compute
// with weights (its result is kept on disk); specialize() is done for each new set of input shapes
// and touches structure only.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/program.h"

namespace hub {

/// All shape-independent passes, in order.
void optimize(Program& program);

/// Calls whose inputs are all constant become constants, unless the result is large and they were
/// small, or they are calls of `except`.
void fold_constants(Program& program, std::string_view except = {});
/// dequantize -> conv or matmul -> quantize becomes one call that computes with the small integers,
/// and so does what stands between such calls where it only moves or compares numbers.
void form_quantized(Program& program);
/// Calls that compute the same from the same become one.
void share_calls(Program& program);
/// conv (or matmul) followed by batch_norm or by a multiplication, division, addition or
/// subtraction with one constant a channel: folded into its weights and bias.
void fold_affine(Program& program);
/// conv_transpose whose windows do not overlap: a 1x1 conv into the pixels of each window, then
/// depth_to_space. An elementwise step behind it moves in front of depth_to_space, where it can
/// join the conv.
void unroll_conv_transpose(Program& program);
/// Transposes move down to where two become one or none, if there is less to move then; those that
/// move only dimensions of 1 become reshapes. Without `specs` shapes are not known and constants
/// are transposed; with them constants stay, and `specs` gets those of new values.
void push_transposes(Program& program, std::vector<Spec>* specs);
/// A concatenation that begins with all that an earlier one joined begins with its result.
void nest_concats(Program& program);
/// Calls that nobody reads go; identity calls give way to their input.
void remove_dead(Program& program);

/// The program with real input shapes: what follows from shapes alone becomes constant, then the
/// passes below. `specs` gets type and shape of every value. Returns false when a shape depends on
/// computed numbers, or a value is no plain tensor: such a program is run in stages (stages.h).
bool specialize(Program& program, const std::vector<Spec>& inputs, std::vector<Spec>& specs);
/// What shapes alone say of a call: its results are constants by now, it has real shapes, or
/// numbers that are computed decide (of it, or of what it reads).
enum class Fate : char { folded, runs, unknown };
/// The fate of each call. `specs` holds the types and shapes of what is there (none where nothing
/// is) and gets those of the rest; results that fold become constants of the program.
std::vector<Fate> infer_calls(Program& program, std::vector<Spec>& specs);
/// A pad of zeros in front of a conv becomes the conv's own.
void fold_pad(Program& program);
/// Exporters' spellings of hard_swish, swish, gelu and layer_norm become those operators.
void recover_patterns(Program& program, const std::vector<Spec>& specs);
/// Exporters' spellings of multi-head attention become that operator.
void recover_attention(Program& program, const std::vector<Spec>& specs);
/// Activations, linear steps and residual sums move into the conv or matmul before them.
void fuse_post(Program& program, const std::vector<Spec>& specs);

/// Training steps: relu or clip, and a residual sum, behind a batch norm become part of it and of
/// its gradient.
void fuse_norms(Program& program, const std::vector<Spec>& specs);
/// Training steps: results of norms and gelu that the way back reads are computed again there,
/// where what they are made of is kept anyway.
void compute_again(Program& program, std::vector<Spec>& specs);
/// Calls that only make the next values of states move right behind the last call they need.
void hoist_updates(Program& program);

// ---- shared by the passes ----

/// Who writes and who reads each value.
struct Uses {
  std::vector<int> writer;  ///< index of the call, -1: none
  std::vector<std::vector<int>>
      readers;  ///< indices of calls; an output of the program counts as reader -1
  explicit Uses(const Program& program);
  /// The only call that reads the value, or -1 when there are more, or it is an output.
  int only_reader(ValueId id) const;
};
/// The call that writes `id` when it is `op`, else null; `id` may be absent.
const OpCall* writer_of(const Program& program, const Uses& uses, ValueId id, std::string_view op);
/// Whether the call is one of this operator, with the inputs that it needs and its first output.
bool is(const OpCall& call, std::string_view op);
/// The value of a constant with one element, else nothing.
std::optional<double> scalar_of(const Program& program, ValueId id);
/// Infers one call with the given specs and known numbers (null where unknown); context in errors.
std::vector<Spec> infer_call(const Program& program, const OpCall& call,
                             const std::vector<Spec>& specs,
                             const std::vector<const Tensor*>& known);

}  // namespace hub
