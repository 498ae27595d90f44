// while(trip_count?, condition?, carried…, captured…): the block `body` over and over. It takes
// (iteration, condition, carried…, captured…) and gives (condition, carried…, scanned…); attribute
// `carried` says how many are carried on. It ends after trip_count rounds or when the condition is
// false. Results: the carried values at the end; what was scanned, one round behind the other on a new
// first axis; and with attribute `history` each carried value as it was before every round, stacked so
// too, and the number of rounds. The gradient is a loop over the rounds from the last to the first.
#include <cstring>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/kernel.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr int64_t most_rounds = int64_t{1} << 31;
constexpr size_t most_bytes = size_t{16} << 30;  // of everything that is stacked

/// The parts of a call.
struct Loop {
  BlockPtr body;
  size_t carried, captured, scans;
  bool history;

  Loop(const Attrs& attrs, size_t inputs) : body(attrs.block("body")) {
    const int64_t n = attrs.i("carried");
    const size_t values = inputs < 2 ? 0 : inputs - 2;
    if (n < 0 || static_cast<size_t>(n) > values)
      fail(Code::refused, "it carries ", n, " values, ", values, " are given");
    carried = static_cast<size_t>(n);
    captured = values - carried;
    if (body->inputs.size() != 2 + values)
      fail(Code::refused, "its body takes ", body->inputs.size(), " values, ", 2 + values,
           " are given");
    if (body->outputs.size() < 1 + carried)
      fail(Code::refused, "its body gives ", body->outputs.size(), " results, ", 1 + carried,
           " or more are wanted");
    scans = body->outputs.size() - 1 - carried;
    history = attrs.i("history", 0) != 0;
  }
  size_t scan(size_t s) const { return carried + s; }            ///< its place among the results
  size_t before(size_t k) const { return carried + scans + k; }  ///< the history of a carried value
  size_t rounds() const { return carried + scans + carried; }
};

template <class T>
T only(const Tensor& t, std::string_view what) {
  if (t.dtype() != dtype_of<T>() || t.numel() != 1)
    fail(Code::refused, "the ", what, " is ", t.spec().str(), ", one ", name_of(dtype_of<T>()),
         " is wanted");
  return *t.data<T>();
}

template <class T>
Tensor single(T value) {
  Tensor t(dtype_of<T>(), {});
  *t.data<T>() = value;
  return t;
}

Spec stacked(const Spec& one, int64_t rounds) {
  Spec s{one.dtype, {rounds}};
  for (int64_t d : one.shape) s.shape.push_back(d);
  return s;
}

/// What the body takes: the two numbers of its own, then the values of the call.
std::vector<Spec> body_specs(const Infer& in, size_t count) {
  std::vector<Spec> specs{{DType::i64, {}}, {DType::boolean, {}}};
  for (size_t i = 2; i < count; ++i) specs.push_back(in.in(i));
  return specs;
}

/// How many rounds there are, when that is known before the first.
int64_t known_rounds(const Infer& in, const Program& body) {
  ValueId end = body.outputs[0];
  for (const OpCall& call : body.ops)
    if (call.op->name == "identity" && call.out[0] == end) end = call.in[0];
  const Tensor& always = body[end].constant;
  if (!in.has(0) || (end != body.inputs[1] && !(always && only<bool>(always, "condition"))))
    throw ValueUnknown{};
  const bool starts = !in.has(1) || only<bool>(in.value(1), "condition");
  return starts ? std::max<int64_t>(only<int64_t>(in.value(0), "trip count"), 0) : 0;
}

std::vector<Spec> infer_while(const Infer& in) {
  const Loop loop(in.attrs, in.size());
  const auto inputs = body_specs(in, in.size());
  const auto body = block_specs(*loop.body, inputs);
  if (!body) throw ValueUnknown{};
  std::vector<Spec> out;
  for (size_t k = 0; k < loop.carried; ++k) {
    if ((*body)[1 + k] != inputs[2 + k]) throw ValueUnknown{};  // it grows
    out.push_back(inputs[2 + k]);
  }
  if (loop.scans == 0 && !loop.history) return out;
  const int64_t rounds = known_rounds(in, *loop.body);
  for (size_t s = 0; s < loop.scans; ++s)
    out.push_back(stacked((*body)[1 + loop.carried + s], rounds));
  if (!loop.history) return out;
  for (size_t k = 0; k < loop.carried; ++k) out.push_back(stacked(inputs[2 + k], rounds));
  out.push_back({DType::i64, {}});
  return out;
}

/// One value of every round.
class Stack {
 public:
  void add(const Tensor& t, std::string_view what, size_t& bytes) {
    if (!rounds_.empty() && t.spec() != rounds_[0].spec())
      fail(Code::unsupported, what, " is ", rounds_[0].spec().str(), " at first and then ",
           t.spec().str(), "; only what keeps its shape can be stacked");
    if ((bytes += t.bytes()) > most_bytes)
      fail(Code::refused, "what its rounds give takes more than ", most_bytes, " bytes");
    rounds_.push_back(t);
  }
  bool empty() const { return rounds_.empty(); }
  Tensor all() const {
    const Spec spec = stacked(rounds_[0].spec(), static_cast<int64_t>(rounds_.size()));
    Tensor y(spec.dtype, spec.shape);
    const size_t each = rounds_[0].bytes();
    for (size_t r = 0; r < rounds_.size(); ++r)
      if (each > 0) std::memcpy(y.data<std::byte>() + r * each, rounds_[r].raw(), each);
    return y;
  }

 private:
  std::vector<Tensor> rounds_;
};

/// What the body would have scanned in a round that never was: none of it.
std::vector<Spec> unseen_scans(const Loop& loop, const std::vector<Tensor>& inputs) {
  std::vector<Spec> specs;
  for (const Tensor& t : inputs) specs.push_back(t.spec());
  const auto body = block_specs(*loop.body, specs);
  std::vector<Spec> scans;
  for (size_t s = 0; s < loop.scans; ++s) {
    const size_t at = 1 + loop.carried + s;
    const Spec spec = body ? (*body)[at] : (*loop.body)[loop.body->outputs[at]].declared;
    if (spec.dtype == DType::none || !spec.shape.known())
      fail(Code::unsupported, "it ended before its first round, so nobody knows the shape of scanned "
           "result ", s);
    scans.push_back(spec);
  }
  return scans;
}

std::vector<Tensor> run_while(const Attrs& attrs, std::span<const Tensor* const> in,
                              const RunBlock& run) {
  const Loop loop(attrs, in.size());
  const auto has = [&](size_t i) { return i < in.size() && in[i] != nullptr; };
  const int64_t most = has(0) ? only<int64_t>(*in[0], "trip count") : INT64_MAX;
  bool goes_on = !has(1) || only<bool>(*in[1], "condition");
  std::vector<Tensor> inputs{single<int64_t>(0), single(true)};
  for (size_t i = 2; i < in.size(); ++i) inputs.push_back(*in[i]);
  std::vector<Stack> scans(loop.scans), history(loop.carried);
  size_t bytes = 0;
  int64_t round = 0;
  for (; goes_on && round < most; ++round) {
    if (round == most_rounds)
      fail(Code::refused, "it has not ended after ", most_rounds, " rounds");
    inputs[0] = single(round);
    for (size_t k = 0; loop.history && k < loop.carried; ++k)
      history[k].add(inputs[2 + k], concat("carried value ", k), bytes);
    std::vector<Tensor> out = run(loop.body, inputs);
    goes_on = only<bool>(out[0], "condition");
    for (size_t k = 0; k < loop.carried; ++k) inputs[2 + k] = std::move(out[1 + k]);
    for (size_t s = 0; s < loop.scans; ++s)
      scans[s].add(out[1 + loop.carried + s], concat("scanned result ", s), bytes);
  }
  std::vector<Tensor> result(inputs.begin() + 2,
                             inputs.begin() + 2 + static_cast<std::ptrdiff_t>(loop.carried));
  const auto unseen = round == 0 && loop.scans > 0 ? unseen_scans(loop, inputs) : std::vector<Spec>{};
  for (size_t s = 0; s < loop.scans; ++s)
    result.push_back(round > 0 ? scans[s].all() : Tensor(unseen[s].dtype, stacked(unseen[s], 0).shape));
  if (!loop.history) return result;
  for (size_t k = 0; k < loop.carried; ++k)
    result.push_back(round > 0 ? history[k].all()
                               : Tensor(result[k].dtype(), stacked(result[k].spec(), 0).shape));
  result.push_back(single(round));
  return result;
}

// ---- the gradient ----

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

/// The loop back: what it carries are the gradients of the carried values that move, then the sums of
/// those of the captured values that are wanted; it captures the number of rounds, the histories, the
/// captured values, and the gradients of what was scanned and of the histories.
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
    const Vars dx = apply(*find_op("while"), in,
                          {{"body", body()}, {"carried", static_cast<int64_t>(into_.size())}},
                          into_.size());
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
      return rounds_ && std::all_of(history_.begin(), history_.end(), [](Var v) { return bool(v); });
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

void grad_while(Grad& g) {
  const Loop loop(g.attrs, g.size());
  Back(g, loop).run();
}

// ---- import ----

void onnx_loop(ImportNode& n) {
  Vars in{n.in(0), n.in(1)};
  for (size_t i = 2; i < n.inputs(); ++i) in.push_back(n.need(i));
  const auto carried = static_cast<int64_t>(in.size() - 2);
  const Vars captured = n.captured("body");
  in.insert(in.end(), captured.begin(), captured.end());
  const BlockPtr& body = n.attrs.block("body");
  if (body->outputs.size() < 2)
    n.refuse("its body gives a condition only");
  const Vars out = apply(*find_op("while"), in, {{"body", body}, {"carried", carried}},
                         body->outputs.size() - 1);
  for (size_t k = 0; k < out.size(); ++k) n.out(k, out[k]);
}

/// Item k of a list of the node, 0 where the file gives none.
int64_t item(const ImportNode& n, std::string_view list, size_t k) {
  const auto items = n.attrs.ints(list);
  return k < items.size() ? items[k] : 0;
}

/// Scan is a loop over the slices of what is scanned, which it captures.
void onnx_scan(ImportNode& n) {
  if (n.version < 9) n.refuse("Scan of operator sets before 9 is not supported");
  const Program& body = *n.attrs.block("body");
  const Vars captured = n.captured("body");
  const auto scanned = static_cast<size_t>(std::max<int64_t>(n.attrs.i("num_scan_inputs"), 0));
  if (scanned == 0 || scanned > n.inputs()) n.refuse("it scans ", scanned, " inputs");
  const size_t carried = n.inputs() - scanned;
  if (body.inputs.size() != n.inputs() + captured.size() || body.outputs.size() < carried + 1)
    n.refuse("its body takes ", body.inputs.size(), " values and gives ", body.outputs.size());

  auto round = std::make_shared<Program>();
  const auto input = [&] { return Var{round.get(), round->add_input({}, {})}; };
  const Var index = input();
  const Var condition = input();
  Vars x;
  Vars in{apply("squeeze", {length(n.need(carried), item(n, "scan_input_axes", 0))}), Var{}};
  for (size_t i = 0; i < n.inputs(); ++i) in.push_back(n.need(i));
  in.insert(in.end(), captured.begin(), captured.end());
  for (size_t k = 0; k < carried; ++k) x.push_back(input());
  for (size_t k = 0; k < scanned; ++k) {
    const Var all = input();
    const int64_t axis = item(n, "scan_input_axes", k);
    Var at = index;
    if (item(n, "scan_input_directions", k) != 0)
      at = sub(sub(apply("squeeze", {length(all, axis)}), index),
               constant(*round, single<int64_t>(1)));
    x.push_back(apply("gather", {all, at}, {{"axis", axis}}));
  }
  for (size_t k = 0; k < captured.size(); ++k) x.push_back(input());
  round->outputs = {apply("identity", {condition}).id};
  for (const Var& y : append_block(*round, body, x))
    round->outputs.push_back(apply("identity", {y}).id);

  const Vars out = apply(*find_op("while"), in,
                         {{"body", BlockPtr(round)}, {"carried", static_cast<int64_t>(carried)}},
                         body.outputs.size());
  for (size_t k = 0; k < out.size(); ++k) {
    Var y = out[k];
    if (k >= carried && item(n, "scan_output_axes", k - carried) != 0)
      n.refuse("it stacks its results on another axis than the first");
    if (k >= carried && item(n, "scan_output_directions", k - carried) != 0)
      y = apply("slice", {y, ints(n, {-1}), ints(n, {INT64_MIN}), ints(n, {0}), ints(n, {-1})});
    n.out(k, y);
  }
}

}  // namespace

extern const OpDef while_op = {
    .name = "while",
    .max_inputs = -1,
    .outputs = -1,
    .infer = infer_while,
    .run = run_while,
    .grad = grad_while,
    .settings = 0b11,
    .imports = {{"onnx:Loop", onnx_loop}, {"onnx:Scan", onnx_scan}},
};

}  // namespace hub
