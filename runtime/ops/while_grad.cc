// The gradient of `while`: a loop over the rounds from the last to the first, each of which
// computes the body once more on what it was given then.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/while.h"

namespace hub {
namespace {

/// Which carried values gradients may come through: those that begin with one, and those that the
/// body makes of such.
std::vector<bool> moving(const Grad& g, const Loop& loop) {
  const Program& body = *loop.body;
  std::vector<bool> moves(loop.carried);
  for (bool again = true; again;) {
    again = false;
    std::vector<ValueId> from;
    for (size_t i = 2; i < body.inputs.size(); ++i)
      if (g.wants(i) || (i - 2 < loop.carried && moves[i - 2])) from.push_back(body.inputs[i]);
    const auto depends = depending_on(body, from);
    for (size_t k = 0; k < loop.carried; ++k) {
      const bool now = g.wants(2 + k) || depends[static_cast<size_t>(body.outputs[1 + k])];
      again = again || (now && !moves[k]);
      moves[k] = moves[k] || now;
    }
  }
  return moves;
}

/// The loop back: what it carries are the gradients of the carried values that move, then the sums
/// of those of the captured values that are wanted; it captures the number of rounds, the
/// histories, the captured values, and the gradients of what was scanned and of the histories.
class Back {
 public:
  Back(Grad& g, const Loop& loop) : g_(g), loop_(loop), moves_(moving(g, loop)) {}

  void run() {
    keep_history();
    Vars in{rounds_, Var{}};
    for (size_t i = 2; i < g_.size(); ++i) {
      const bool carried = i < 2 + loop_.carried;
      if (carried ? !moves_[i - 2] : !g_.wants(i)) continue;
      in.push_back(carried && g_.dy(i - 2) ? g_.dy(i - 2) : g_.zeros(g_.x(i)));
      into_.push_back(i);
    }
    in.push_back(rounds_);
    in.insert(in.end(), history_.begin(), history_.end());
    for (size_t i = 2 + loop_.carried; i < g_.size(); ++i) in.push_back(g_.x(i));
    for (size_t k = loop_.carried; k < loop_.rounds(); ++k)
      if (g_.dy(k)) in.push_back(g_.dy(k));
    const Vars dx =
        apply(*find_op("while"), in,
              {{"body", body()}, {"carried", static_cast<int64_t>(into_.size())}}, into_.size());
    for (size_t n = 0; n < into_.size(); ++n)
      if (g_.wants(into_[n])) g_.dx(into_[n], dx[n]);
  }

 private:
  /// The carried values before every round: what the call gives, or else the loop is run once more.
  void keep_history() {
    const auto take = [&](const auto& result) {
      history_.clear();
      for (size_t k = 0; k < loop_.carried; ++k) history_.push_back(result(loop_.before(k)));
      rounds_ = result(loop_.rounds());
      return rounds_ &&
             std::all_of(history_.begin(), history_.end(), [](Var v) { return bool(v); });
    };
    if (loop_.history && take([&](size_t k) { return g_.y(k); })) return;
    Vars in;
    for (size_t i = 0; i < g_.size(); ++i) in.push_back(g_.x(i));
    Attrs attrs = g_.attrs;
    attrs.set("history", int64_t{1});
    const Vars again = apply(*find_op("while"), in, attrs, loop_.rounds() + 1);
    take([&](size_t k) { return again[k]; });
  }

  /// A round back: the body once more on what it was given then, and the gradients of that.
  BlockPtr body() const {
    auto program = std::make_shared<Program>();
    Program& p = *program;
    const auto input = [&] { return Var{&p, p.add_input({}, {})}; };
    const Var done = input();
    const Var condition = input();
    Vars given;
    for (size_t n = 0; n < into_.size(); ++n) given.push_back(input());
    const Var round = sub(sub(input(), done), constant(p, single<int64_t>(1)));
    const auto then = [&] { return apply("gather", {input(), round}, {{"axis", int64_t{0}}}); };
    Vars x{round, constant(p, single(true))};
    for (size_t k = 0; k < loop_.carried; ++k) x.push_back(then());
    for (size_t i = 0; i < loop_.captured; ++i) x.push_back(input());
    const Vars y = append_block(p, *loop_.body, x);

    std::vector<ValueId> from;
    for (size_t i : into_) from.push_back(loop_.body->inputs[i]);
    const auto depends = depending_on(*loop_.body, from);
    Var loss;
    const auto flows = [&](Var dy, size_t output) {
      if (!depends[static_cast<size_t>(loop_.body->outputs[output])]) return;
      const Var part = apply("reduce_sum", {mul(dy, y[output])}, {{"keepdims", int64_t{0}}});
      loss = loss ? add(loss, part) : part;
    };
    for (size_t n = 0; n < into_.size(); ++n)
      if (into_[n] < 2 + loop_.carried) flows(given[n], into_[n] - 1);
    Vars before(loop_.carried);  // the gradients of the histories
    for (size_t k = loop_.carried; k < loop_.rounds(); ++k) {
      if (!g_.dy(k)) continue;
      const Var dy = then();
      if (k < loop_.before(0))
        flows(dy, 1 + k);
      else
        before[k - loop_.before(0)] = dy;
    }
    Vars wrt;
    for (size_t i : into_) wrt.push_back(x[i]);
    const Vars dx = loss ? append_backward(p, loss, wrt) : Vars(wrt.size());

    p.outputs = {apply("identity", {condition}).id};
    for (size_t n = 0; n < into_.size(); ++n) {
      const bool carried = into_[n] < 2 + loop_.carried;
      const Var more = carried ? before[into_[n] - 2] : given[n];
      Var sum = dx[n] && more ? add(dx[n], more) : dx[n] ? dx[n] : more;
      if (!sum) sum = zeros_like(x[into_[n]]);
      p.outputs.push_back(apply("identity", {sum}).id);
    }
    return program;
  }

  Grad& g_;
  const Loop& loop_;
  std::vector<bool> moves_;
  Vars history_;
  Var rounds_;
  std::vector<size_t> into_;  ///< the inputs whose gradients are carried
};

}  // namespace

void grad_while(Grad& g) {
  const Loop loop(g.attrs, g.size());
  Back(g, loop).run();
}

}  // namespace hub
