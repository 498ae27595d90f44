// while(trip_count?, condition?, carried…, captured…): the block `body` over and over. It takes
// (iteration, condition, carried…, captured…) and gives (condition, carried…, scanned…); attribute
// `carried` says how many are carried on. It ends after trip_count rounds or when the condition is
// false. Results: the carried values at the end; what was scanned, one round behind the other on a
// new first axis; and with attribute `history` each carried value as it was before every round,
// stacked so too, and the number of rounds. The gradient is a loop over the rounds from the last to
// the first.
#include "runtime/ops/while.h"

#include "base/error.h"
#include "runtime/budget.h"
#include "runtime/ops/objects.h"

namespace hub {

Loop::Loop(const Attrs& attrs, size_t inputs) : body(attrs.block("body")) {
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

namespace {

constexpr int64_t most_rounds = int64_t{1} << 31;
constexpr size_t most_bytes = size_t{16} << 30;  // of everything that is stacked

template <class T>
T only(const Tensor& t, std::string_view what) {
  if (t.dtype() != dtype_of<T>() || t.numel() != 1)
    fail(Code::refused, "the ", what, " is ", t.spec().str(), ", one ", name_of(dtype_of<T>()),
         " is wanted");
  return *t.data<T>();
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

/// Whether the body never ends the loop: its condition is the one it is given, or always true.
bool never_ends(const Program& body) {
  ValueId end = body.outputs[0];
  for (const OpCall& call : body.ops)
    if (call.op->name == "identity" && call.out[0] == end) end = call.in[0];
  const Tensor& always = body[end].constant;
  return end == body.inputs[1] || (always && only<bool>(always, "condition"));
}

/// How many rounds there are, when that is known before the first.
int64_t known_rounds(const Infer& in, const Program& body) {
  if (!in.has(0) || !never_ends(body)) throw ValueUnknown{};
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
    if (t.dtype() == DType::list)
      fail(Code::unsupported, what, " is a list; only tensors can be stacked");
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
    const int64_t each = rounds_[0].numel();
    if (spec.dtype == DType::string) {
      size_t most = 0;
      for (const Tensor& t : rounds_) most = std::max(most, longest(t));
      y = charged(y, most * static_cast<size_t>(y.numel()));
    }
    for (size_t r = 0; r < rounds_.size(); ++r)
      copy_elements(rounds_[r], 0, each, y, static_cast<int64_t>(r) * each);
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
      fail(Code::unsupported,
           "it ended before its first round, so nobody knows the shape of scanned "
           "result ",
           s);
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
  take_inputs(in, 2, inputs);
  const bool counted = never_ends(*loop.body);
  if (goes_on && counted && most > most_rounds)
    fail(Code::refused, "it would go on for ", most, " rounds; the most is ", most_rounds);
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
    if (round == 0 && counted && bytes > memory_left() / static_cast<size_t>(most))
      fail(Code::refused, "its ", most, " rounds would give ", bytes, " bytes each; there are ",
           memory_left());
  }
  std::vector<Tensor> result(inputs.begin() + 2,
                             inputs.begin() + 2 + static_cast<std::ptrdiff_t>(loop.carried));
  const auto unseen =
      round == 0 && loop.scans > 0 ? unseen_scans(loop, inputs) : std::vector<Spec>{};
  for (size_t s = 0; s < loop.scans; ++s)
    result.push_back(round > 0 ? scans[s].all()
                               : Tensor(unseen[s].dtype, stacked(unseen[s], 0).shape));
  if (!loop.history) return result;
  for (size_t k = 0; k < loop.carried; ++k)
    result.push_back(round > 0 ? history[k].all()
                               : Tensor(result[k].dtype(), stacked(result[k].spec(), 0).shape));
  result.push_back(single(round));
  return result;
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
    .strings = true,
    .lists = true,
    .imports = {{"onnx:Loop", onnx_loop}, {"onnx:Scan", onnx_scan}},
};

}  // namespace hub
