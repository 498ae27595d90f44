// Gradients: every operator has one rule, which appends ordinary operators. The same rules serve
// programs (append_backward) and calls that run as they are written (tape.h). How to write one:
// docs/op.md.
#pragma once

#include "runtime/op.h"

namespace hub {

/// One call as its rule sees it.
class Grad {
 public:
  Grad(Program& program, const OpCall& call, Vars dy, std::vector<bool> wanted)
      : attrs(call.attrs),
        program_(program),
        call_(call),
        dy_(std::move(dy)),
        wanted_(std::move(wanted)),
        dx_(call.in.size()) {}

  const Attrs& attrs;
  Program& program() { return program_; }
  size_t size() const { return call_.in.size(); }
  size_t outputs() const { return call_.out.size(); }
  bool has(size_t i) const { return i < call_.in.size() && call_.in[i] != absent; }
  Var x(size_t i) const;      ///< input i; empty when absent
  Var y(size_t i = 0) const;  ///< output i; empty when the call does not make it
  /// The gradient of output i; empty when none flows into it (it counts as zero).
  Var dy(size_t i = 0) const { return i < dy_.size() ? dy_[i] : Var{}; }
  /// Whether the gradient of input i is asked for. A rule may ignore it: what nobody reads is
  /// removed.
  bool wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  /// The gradient of input i, of the input's shape and type.
  void dx(size_t i, Var gradient);
  const Vars& result() const { return dx_; }

  /// A number in the element type of `like`.
  Var number(double value, Var like) const;
  /// Zeros of the shape and type of `like`.
  Var zeros(Var like) const { return apply("expand_as", {number(0, like), like}); }

 private:
  Program& program_;
  const OpCall& call_;
  Vars dy_;
  std::vector<bool> wanted_;
  Vars dx_;
};

/// For operators whose gradient is zero wherever it is defined (floor, sign, comparisons).
void zero_gradient(Grad&);

/// Which values of a program a change of those in `from` may reach with a slope.
std::vector<bool> depending_on(const Program& program, const std::vector<ValueId>& from);

/// Appends the calls that compute d loss / d v for each v of `wrt`, and gives those gradients;
/// empty where the loss does not depend on v. `loss` has one element. Throws Code::unsupported
/// naming an operator on the way that has no gradient, and why. With `recompute`, the calls are
/// taken in segments of about the square root of their number, and each segment is computed a
/// second time when its gradients are due: less memory, a third more time (Chen et al. 2016).
Vars append_backward(Program& program, Var loss, const Vars& wrt, bool recompute = false);

}  // namespace hub
