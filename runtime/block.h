// Blocks: programs that operators run (`if`, `while`). Running them, their shapes, and putting one
// into a program under construction.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/op.h"

namespace hub {

class Session;

/// Runs blocks on a device, each through a session that is kept: the same one wherever the
/// block is in use. Any threads may run at once.
class Blocks {
 public:
  explicit Blocks(std::string device);
  ~Blocks();
  std::vector<Tensor> run(const BlockPtr& block, const std::vector<Tensor>& inputs);
  RunBlock runner();

 private:
  Session& session_of(const BlockPtr& block);
  std::string device_;
  std::mutex mutex_;
  std::map<BlockPtr, std::shared_ptr<Session>> sessions_;
};

/// Runs a block call by call with the reference kernels.
std::vector<Tensor> run_plainly(const BlockPtr& block, const std::vector<Tensor>& inputs);
/// Runs one call with the reference kernel; `values` gets its results.
void run_call(const OpCall& call, std::vector<Tensor>& values, const RunBlock& run);
/// Runs the calls of a program one after the other with the reference kernels; `values` holds its
/// inputs, constants and states and gets the rest.
void run_calls(const Program& program, std::vector<Tensor>& values, const RunBlock& run);

/// Appends to `inputs` what a call is given from input `first` on; throws Code::refused when one is
/// missing.
void take_inputs(std::span<const Tensor* const> in, size_t first, std::vector<Tensor>& inputs);

/// Types and shapes of a block's outputs; nothing where they depend on numbers.
std::optional<std::vector<Spec>> block_specs(const Program& block, const std::vector<Spec>& inputs);

/// Appends the calls of a block, which reads `in` as its inputs; gives its outputs.
Vars append_block(Program& into, const Program& block, const Vars& in);

/// Appends an `if` whose blocks read values of their own: `then` reads a, `otherwise` reads b.
Vars append_if(Var condition, const BlockPtr& then, const Vars& a, const BlockPtr& otherwise,
               const Vars& b);

/// Zeros of the shape and type of `like`, in its program.
Var zeros_like(Var like);

/// The float constants of blocks, where they are more than one number, become constants of the
/// program around them, which the operators read and the blocks are given: so they can be trained.
void lift_constants(Program& program);

}  // namespace hub
