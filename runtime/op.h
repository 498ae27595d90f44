// An operator: one definition says everything about it. The list of all of them is ops/ops.list.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/attrs.h"
#include "runtime/program.h"
#include "runtime/tensor.h"

namespace hub {

/// What shape inference sees: real shapes always (no -1), and the numbers of an input where they
/// are known already.
class Infer {
 public:
  Infer(const Attrs& attrs, std::span<const Spec* const> in, std::span<const Tensor* const> values)
      : attrs(attrs), in_(in), values_(values) {}
  const Attrs& attrs;
  size_t size() const { return in_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i] != nullptr; }
  /// Throws Code::refused when input i is absent.
  const Spec& in(size_t i) const;
  /// The numbers of input i. Throws ValueUnknown (caught by the executor, which then infers while
  /// it runs).
  const Tensor& value(size_t i) const;

 private:
  std::span<const Spec* const> in_;
  std::span<const Tensor* const> values_;
};

/// The shape of an output depends on numbers that are not known before the run. Never leaves the
/// runtime.
struct ValueUnknown {};

/// One call with its tensors: plain host memory; outputs have the inferred type and shape and are
/// not initialised.
struct Call {
  const Attrs& attrs;
  std::span<const Tensor* const> in;
  std::span<Tensor* const> out;  ///< null for an output nobody wants
  bool has(size_t i) const { return i < in.size() && in[i] != nullptr; }
  bool wants(size_t i) const { return i < out.size() && out[i] != nullptr; }
  const Tensor& x(size_t i) const { return *in[i]; }
  Tensor& y(size_t i = 0) const { return *out[i]; }
};

/// Runs a block on tensors; made by whoever runs the call (block.h).
using RunBlock =
    std::function<std::vector<Tensor>(const BlockPtr& block, const std::vector<Tensor>& inputs)>;

class ImportNode;
class Grad;

/// "onnx:Gemm", "paddle:matmul_v2": how a node of a file becomes calls of operators.
struct Import {
  std::string_view name;
  void (*make)(ImportNode&);
};

struct OpDef {
  std::string_view name;
  int min_inputs = 1;
  int max_inputs = 1;      ///< -1: any number
  int outputs = 1;         ///< at most so many; -1: any number
  unsigned spec_only = 0;  ///< bit i: of input i only type and shape matter, so the call folds
                           ///< before its numbers are known
  std::vector<Spec> (*infer)(const Infer&) =
      nullptr;  ///< checks everything; throws Code::refused / unsupported
  void (*forward)(const Call&) =
      nullptr;  ///< the reference implementation; infer has checked everything
  /// Instead of forward, for operators that own blocks: their results have the shapes they come to.
  std::vector<Tensor> (*run)(const Attrs&, std::span<const Tensor* const> in,
                             const RunBlock&) = nullptr;
  /// The gradient, written in operators (grad.h). Null: none flows, because the outputs are not
  /// floats, or for the reason in no_grad.
  void (*grad)(Grad&) = nullptr;
  std::string_view no_grad = {};   ///< why an operator on floats has no gradient
  std::vector<int> in_place = {};  ///< output k may lie over input in_place[k]: `forward` reads an
                                   ///< element before it writes it
  unsigned settings = 0;  ///< bit i: float input i is a setting (a bound, a scale): no gradient
                          ///< flows into it
  bool random = false;    ///< each run draws anew: never computed ahead of it
  bool strings = false;   ///< takes and gives strings as well, which are no bytes to copy
  bool lists = false;     ///< takes and gives lists
  std::vector<Import> imports = {};
};

/// Every operator, in the order of ops.list.
std::span<const OpDef* const> all_ops();
const OpDef* find_op(std::string_view name);
/// The import rule for "onnx:Conv", or null.
const Import* find_import(std::string_view name);
/// The names of a format ("onnx") that can be imported, sorted.
std::vector<std::string> importable(std::string_view format);

/// op.infer with the checks that hold for all: number of inputs, results of a size that can be
/// afforded (16 GiB each).
std::vector<Spec> infer_outputs(const OpDef& op, const Infer& in);

/// Infers, allocates and runs the reference implementation.
std::vector<Tensor> run_reference(const OpDef& op, const Attrs& attrs,
                                  std::span<const Tensor* const> in);

// ---- building programs ----

/// A value of a program under construction; empty for an absent one.
struct Var {
  Program* program = nullptr;
  ValueId id = absent;
  explicit operator bool() const { return program != nullptr && id != absent; }
  const Tensor& constant() const { return (*program)[id].constant; }  ///< empty when it is computed
};
using Vars = std::vector<Var>;

/// Appends a call with `outputs` outputs.
Vars apply(Program& program, const OpDef& op, const Vars& in, Attrs attrs = {}, size_t outputs = 1,
           std::string name = {});
/// The same in the program of its inputs, of which at least one is there.
Vars apply(const OpDef& op, const Vars& in, Attrs attrs = {}, size_t outputs = 1,
           std::string name = {});
/// The same by the operator's name, with one output.
Var apply(std::string_view op, const Vars& in, Attrs attrs = {});
Var constant(Program& program, Tensor tensor, std::string name = {});

}  // namespace hub
