// Training steps: what stands behind a batch norm becomes part of it, on both ways.
#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

class FuseNorms {
 public:
  FuseNorms(Program& program, const std::vector<Spec>& specs)
      : p_(program), specs_(specs), uses_(program), gone_(program.ops.size(), 0) {}

  void run() {
    for (size_t c = 0; c < p_.ops.size(); ++c) {
      if (gone_[c] == 0 && is(p_.ops[c], "batch_norm_train") && picture(p_.ops[c].in[0])) fuse(c);
    }
    std::vector<OpCall> kept;
    for (size_t c = 0; c < p_.ops.size(); ++c) {
      if (gone_[c] == 0) kept.push_back(std::move(p_.ops[c]));
    }
    p_.ops = std::move(kept);
  }

 private:
  bool picture(ValueId id) const {
    const Spec& s = specs_[static_cast<size_t>(id)];
    return s.dtype == DType::f32 && s.shape.rank() >= 3 && s.shape.rank() <= 5;
  }
  OpCall* at(int index) { return index < 0 ? nullptr : &p_.ops[static_cast<size_t>(index)]; }

  struct Held {
    double low, high;
  };
  /// The bounds that relu or clip puts on its input. Zero lies between them: blocked layouts keep
  /// zeros behind the last channel.
  std::optional<Held> bounds_of(const OpCall& call, size_t first) const {
    if (is(call, "relu") || is(call, "relu_grad")) return Held{0, INFINITY};
    if (!is(call, "clip") && !is(call, "clip_grad")) return {};
    Held h{-INFINITY, INFINITY};
    for (size_t i = first; i < std::min(call.in.size(), first + 2); ++i) {
      if (call.in[i] == absent) continue;
      const auto s = scalar_of(p_, call.in[i]);
      if (!s) return {};
      (i == first ? h.low : h.high) = *s;
    }
    return h.low <= 0 && h.high >= 0 ? std::optional(h) : std::nullopt;
  }

  /// The norm's gradient that alone reads what call `slope` makes of dy, or -1.
  int gradient_behind(int slope, const OpCall& norm) const {
    const int next = uses_.only_reader(p_.ops[static_cast<size_t>(slope)].out[0]);
    if (next < 0) return -1;
    const OpCall& call = p_.ops[static_cast<size_t>(next)];
    const bool same = is(call, "batch_norm_grad") && call.in[0] == norm.in[0] &&
                      call.in[1] == p_.ops[static_cast<size_t>(slope)].out[0] &&
                      call.in[3] == norm.out[1] && call.in[4] == norm.out[2];
    return same ? next : -1;
  }

  void hold(OpCall& call, std::string_view op, const Held& h) {
    call.op = find_op(op);
    call.attrs.set("low", h.low);
    call.attrs.set("high", h.high);
  }

  /// dy no longer goes through `slope` before it reaches the norm's gradient.
  void fuse_back(int slope, int gradient, const OpCall& norm, const Held& h) {
    OpCall& call = *at(gradient);
    call.in = {call.in[0], at(slope)->in[1], call.in[2], norm.in[2], call.in[3], call.in[4]};
    hold(call, "batch_norm_grad_held", h);
    gone_[static_cast<size_t>(slope)] = 1;
  }

  void fuse(size_t c) {
    OpCall& norm = p_.ops[c];
    const ValueId y = norm.out[0];
    if (y == absent) return;
    std::vector<int> readers = uses_.readers[static_cast<size_t>(y)];
    std::sort(readers.begin(), readers.end());
    if (readers.empty() || readers[0] < 0 || gone_[static_cast<size_t>(readers[0])] != 0) return;
    const int next = readers[0];
    OpCall& follower = *at(next);
    if (is(follower, "clip") && readers.size() == 2) {
      // The clip and its gradient both read y: the two go together or not at all.
      const auto h = bounds_of(follower, 1);
      const OpCall& slope = *at(readers[1]);
      if (!h || !is(slope, "clip_grad") || slope.in[0] != y) return;
      const auto back = bounds_of(slope, 2);
      const int gradient = gradient_behind(readers[1], norm);
      if (!back || back->low != h->low || back->high != h->high || gradient < 0) return;
      fuse_back(readers[1], gradient, norm, *h);
      take(c, next, *h);
      return;
    }
    if (readers.size() != 1) return;
    if (const auto h = bounds_of(follower, 1);
        h && (is(follower, "relu") || is(follower, "clip"))) {
      const ValueId z = follower.out[0];
      take(c, next, *h);
      for (int r : uses_.readers[static_cast<size_t>(z)]) {
        const int gradient = r >= 0 && is(*at(r), "relu_grad") && at(r)->in[0] == z
                                 ? gradient_behind(r, p_.ops[c])
                                 : -1;
        if (gradient >= 0) fuse_back(r, gradient, p_.ops[c], *h);
      }
      return;
    }
    if (is(follower, "add") && follower.in[0] != follower.in[1]) add_residual(c, next, y);
  }

  /// The norm's result is that of `next`, which goes.
  void take(size_t c, int next, const Held& h) {
    p_.ops[c].out[0] = at(next)->out[0];
    hold(p_.ops[c], "batch_norm_train_held", h);
    gone_[static_cast<size_t>(next)] = 1;
  }

  /// norm + residual, and a relu behind that: at the place of the sum, where the residual is there.
  void add_residual(size_t c, int sum, ValueId y) {
    OpCall& add = *at(sum);
    const ValueId other = add.in[0] == y ? add.in[1] : add.in[0];
    if (p_[other].constant || specs_[static_cast<size_t>(other)] != specs_[static_cast<size_t>(y)])
      return;
    OpCall& norm = p_.ops[c];
    norm.in.resize(6, absent);
    norm.in[5] = other;
    take(c, sum, {-INFINITY, INFINITY});
    const int next = uses_.only_reader(norm.out[0]);
    if (next >= 0 && is(*at(next), "relu")) take(c, next, {0, INFINITY});
    // Nothing may read the sum before it is written.
    p_.ops[static_cast<size_t>(sum)] = std::move(norm);
    gone_[static_cast<size_t>(sum)] = 0;
    gone_[c] = 1;
  }

  Program& p_;
  const std::vector<Spec>& specs_;
  const Uses uses_;
  std::vector<char> gone_;
};

}  // namespace

void fuse_norms(Program& program, const std::vector<Spec>& specs) {
  FuseNorms(program, specs).run();
}

}  // namespace hub
