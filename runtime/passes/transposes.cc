// Transposes move down through calls that can as well work on what they had transposed, so that
// they meet: two become one, a pair of inverses becomes nothing. Networks of frameworks that keep
// channels last are full of such pairs, one around each convolution.
//
// A value written by such a call is held as a view, "the transpose of another value", and is made
// only where a call needs it that cannot work on the other. Transposes whose ways met are judged
// together: where they would not have less to move they stay as they were.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "runtime/ops/list.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

using Perm = std::vector<int64_t>;

/// The value is transpose(source, perm).
struct View {
  ValueId source = absent;
  Perm perm;
  int origin = -1;  ///< index of a transpose that it comes from
};

bool identical(const Perm& perm) { return std::is_sorted(perm.begin(), perm.end()); }

/// Whether it is a permutation that a shape can have; what a file says may be anything.
bool names_each(Perm perm) {
  std::sort(perm.begin(), perm.end());
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return perm.size() <= Shape::max_rank;
}

Perm inverse(const Perm& perm) {
  Perm back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return back;
}

/// The positions that are not 1.
Perm long_dims(const Shape& shape) {
  Perm at;
  for (size_t d = 0; d < shape.rank(); ++d)
    if (shape[d] != 1) at.push_back(static_cast<int64_t>(d));
  return at;
}

Shape permuted(const Shape& shape, const Perm& perm) {
  Shape to;
  for (int64_t d : perm) to.push_back(shape[static_cast<size_t>(d)]);
  return to;
}

/// Whether transposing a tensor of `shape` moves no number.
bool is_view(const Shape& shape, const Perm& perm) {
  Perm kept;
  for (int64_t d : perm)
    if (shape[static_cast<size_t>(d)] != 1) kept.push_back(d);
  return std::is_sorted(kept.begin(), kept.end());
}

bool in_table(const std::vector<OpDef>& table, const OpDef* op) {
  return op >= table.data() && op < table.data() + table.size();
}

/// Each element of the results comes from those of the operands at the same place, broadcast.
bool elementwise(const OpCall& call) {
  if (call.op->name == "prelu") return call.attrs.items().empty();
  return in_table(unary_ops, call.op) || in_table(binary_ops, call.op) ||
         in_table(activation_ops, call.op) || call.op == &where_op;
}

class Pusher {
 public:
  /// Without `specs` shapes are not known, only what the transposes say of ranks.
  Pusher(Program& program, std::vector<Spec>* specs, const std::set<int>& fixed)
      : p_(program), specs_(specs), fixed_(fixed), together_(program.ops.size()) {
    std::iota(together_.begin(), together_.end(), 0);
  }

  void run() {
    std::vector<OpCall> calls = std::move(p_.ops);
    p_.ops.clear();
    for (size_t c = 0; c < calls.size(); ++c) {
      OpCall& call = calls[c];
      for (ValueId& id : call.in) {
        const View* v = view(id);
        if (v != nullptr && identical(v->perm)) id = v->source;
      }
      if (take(call, static_cast<int>(c)) || move(call)) continue;
      for (ValueId id : call.in) make(id);
      p_.ops.push_back(std::move(call));
    }
    for (ValueId id : p_.outputs) make(id);
    for (const State& s : p_.states) make(s.next);
  }

  /// The transposes that would have no less to move, or more calls for it.
  std::set<int> worse() const {
    std::map<int, int64_t> saved, fewer;
    for (const auto& [origin, cost] : before_) saved[group(origin)] += cost, ++fewer[group(origin)];
    for (const auto& [origin, cost] : after_) saved[group(origin)] -= cost, --fewer[group(origin)];
    std::set<int> all;
    for (const auto& [origin, cost] : before_)
      if (saved[group(origin)] <= 0 || fewer[group(origin)] < 0) all.insert(origin);
    return all;
  }

 private:
  const View* view(ValueId id) const {
    const auto it = id == absent ? views_.end() : views_.find(id);
    return it == views_.end() ? nullptr : &it->second;
  }
  const Shape* shape(ValueId id) const {
    return specs_ == nullptr ? nullptr : &(*specs_)[static_cast<size_t>(id)].shape;
  }
  int group(int origin) const {
    while (together_[static_cast<size_t>(origin)] != origin)
      origin = together_[static_cast<size_t>(origin)];
    return origin;
  }
  void join(int a, int b) { together_[static_cast<size_t>(group(a))] = group(b); }

  /// What a transpose of a value like `id` moves: bytes, or one where they are not known.
  int64_t cost(ValueId id) const {
    if (specs_ == nullptr) return 1;
    return static_cast<int64_t>(bytes_of((*specs_)[static_cast<size_t>(id)])) + 1;
  }

  /// A value that has the elements of `like` under another shape.
  ValueId add(ValueId like, const Perm& perm) {
    const ValueId id = p_.add_value("");
    if (specs_ != nullptr) {
      const Spec& s = (*specs_)[static_cast<size_t>(like)];
      Spec source{s.dtype, permuted(s.shape, inverse(perm))};
      specs_->push_back(source);
    }
    return id;
  }
  ValueId add(Tensor constant) {
    if (specs_ != nullptr) specs_->push_back(constant.spec());
    return p_.add_constant("", std::move(constant));
  }
  ValueId reshaped(ValueId id, Shape to) {
    if (*shape(id) == to) return id;
    const ValueId made = p_.add_value("");
    specs_->push_back({(*specs_)[static_cast<size_t>(id)].dtype, to});
    reshape_into(id, made, to);
    return made;
  }
  void reshape_into(ValueId id, ValueId made, Shape to) {
    p_.ops.push_back({find_op("reshape"),
                      {id, add(Tensor::ints(to.vec()))},
                      {made},
                      {{"allowzero", int64_t{1}}},
                      ""});
  }

  /// Writes a value that so far is only a view.
  void make(ValueId id) {
    const View* v = view(id);
    if (v == nullptr || !made_.insert(id).second) return;
    if (identical(v->perm)) {
      p_.ops.push_back({find_op("identity"), {v->source}, {id}, {}, ""});
    } else if (specs_ != nullptr && is_view(*shape(v->source), v->perm)) {
      reshape_into(v->source, id, *shape(id));
    } else {
      p_.ops.push_back({&transpose_op, {v->source}, {id}, {{"perm", v->perm}}, ""});
      after_.emplace_back(v->origin, cost(id));
    }
  }

  /// A transpose becomes a view.
  bool take(const OpCall& call, int index) {
    if (!is(call, "transpose") || fixed_.contains(index)) return false;
    const ValueId x = call.in[0];
    Perm perm = call.attrs.ints("perm");
    if (!call.attrs.has("perm")) {
      if (specs_ == nullptr) return false;
      perm.resize(shape(x)->rank());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    const auto rank = static_cast<int64_t>(perm.size());
    for (int64_t& d : perm) d = d < 0 ? d + rank : d;
    if (!names_each(perm)) return false;
    const View* v = view(x);
    if (v == nullptr && specs_ != nullptr && is_view(*shape(x), perm) && !p_[x].constant) {
      reshape_into(x, call.out[0], *shape(call.out[0]));
      return true;
    }
    View w{x, perm, index};
    if (v != nullptr) {
      w.source = v->source;
      for (int64_t& d : w.perm) d = v->perm[static_cast<size_t>(d)];
      join(index, v->origin);
    }
    before_.emplace_back(index, cost(call.out[0]));
    views_.emplace(call.out[0], std::move(w));
    return true;
  }

  /// The same view with the dimensions of 1 where they are in the value itself.
  View tidy(ValueId id, const View& v) { return tidy(v, *shape(id), *shape(id)); }
  /// `value` is v's shape; the view is of the same elements in `wanted`, which differs by ones.
  View tidy(const View& v, const Shape& value, const Shape& wanted) {
    const Perm from = long_dims(value);
    const Perm to = long_dims(wanted);
    const Perm sources = long_dims(*shape(v.source));
    View w{absent, Perm(wanted.rank()), v.origin};
    std::iota(w.perm.begin(), w.perm.end(), 0);
    for (size_t j = 0; j < to.size(); ++j) {
      const int64_t d = v.perm[static_cast<size_t>(from[j])];
      const auto order = std::find(sources.begin(), sources.end(), d) - sources.begin();
      w.perm[static_cast<size_t>(to[j])] = to[static_cast<size_t>(order)];
    }
    w.source = reshaped(v.source, permuted(wanted, inverse(w.perm)));
    return w;
  }

  /// The operand as it lies before the transpose: a constant is transposed now. It may have fewer
  /// dimensions when it is to be broadcast. Absent where that would move numbers in a run.
  ValueId untransposed(ValueId id, const Perm& perm, bool broadcasts) {
    const Tensor& t = p_[id].constant;
    if (!t && specs_ == nullptr) return absent;
    const Shape given = t ? t.shape() : *shape(id);
    const size_t rank = perm.size();
    if (given.rank() > rank || (given.rank() < rank && !broadcasts)) return absent;
    if (broadcasts && given.numel() == 1) return id;
    Shape full;
    for (size_t d = given.rank(); d < rank; ++d) full.push_back(1);
    for (int64_t n : given) full.push_back(n);
    const Perm back = inverse(perm);
    // With shapes known a constant may already lie packed for its kernel, so that its numbers are
    // not to be read here.
    if (specs_ != nullptr) return is_view(full, back) ? reshaped(id, permuted(full, back)) : absent;
    const Tensor whole = t.reshaped(full);
    const Tensor* in[] = {&whole};
    return add(run_reference(transpose_op, {{"perm", back}}, in)[0]);
  }

  /// The views of all operands that are to be walked together, in one order; false when there is
  /// none.
  bool align(const OpCall& call, size_t operands, View& common, std::vector<ValueId>& in,
             bool broadcasts) {
    std::vector<const View*> views;
    for (size_t i = 0; i < operands; ++i)
      if (const View* v = view(call.in[i])) views.push_back(v);
    if (views.empty()) return false;
    common = *views[0];
    bool same = true;
    for (const View* v : views) {
      if (v->perm.size() != common.perm.size()) return false;
      same = same && v->perm == common.perm;
    }
    std::vector<View> tidied;
    if (!same) {
      if (specs_ == nullptr) return false;
      for (size_t i = 0; i < operands; ++i)
        if (const View* v = view(call.in[i])) tidied.push_back(tidy(call.in[i], *v));
      common = tidied[0];
      for (const View& v : tidied)
        if (v.perm != common.perm) return false;
    }
    in = call.in;
    size_t k = 0;
    for (size_t i = 0; i < operands; ++i) {
      if (in[i] == absent) continue;
      if (view(in[i]) != nullptr) {
        in[i] = same ? views[k]->source : tidied[k].source;
        join(views[k++]->origin, common.origin);
      } else {
        in[i] = untransposed(in[i], common.perm, broadcasts);
        if (in[i] == absent) return false;
      }
    }
    return true;
  }

  /// The call on the sources of its views; its results are views then.
  void put(OpCall call, std::vector<ValueId> in, const View& common, const Perm& perm) {
    for (ValueId& id : call.out) {
      if (id == absent) continue;
      const ValueId made = add(id, perm);
      views_.emplace(id, View{made, perm, common.origin});
      id = made;
    }
    call.in = std::move(in);
    p_.ops.push_back(std::move(call));
  }
  void put(const OpCall& call, std::vector<ValueId> in, const View& common) {
    put(call, std::move(in), common, common.perm);
  }

  bool move(const OpCall& call) {
    if (std::none_of(call.in.begin(), call.in.end(), [&](ValueId id) { return view(id); }) ||
        call.op->random)
      return false;
    View common;
    std::vector<ValueId> in;
    if (elementwise(call)) {
      if (!align(call, call.in.size(), common, in, true)) return false;
      put(call, std::move(in), common);
      return true;
    }
    if (is(call, "concat")) {
      if (!align(call, call.in.size(), common, in, false)) return false;
      return along(call, std::move(in), common, "axis", 0);
    }
    // The rest have one operand to be walked and others that say how.
    for (size_t i = 1; i < call.in.size(); ++i)
      if (view(call.in[i]) != nullptr) return false;
    if (!is(call, call.op->name)) return false;
    common = *view(call.in[0]);
    in = call.in;
    in[0] = common.source;
    const std::string_view op = call.op->name;
    if (op == "clip" || op == "identity" || (op == "cast" && in.size() == 1)) {
      put(call, std::move(in), common);
      return true;
    }
    if (op == "quantize" || op == "dequantize")
      return call.attrs.i("block_size", 0) == 0 && along(call, std::move(in), common, "axis", 1);
    if (op == "split") return along(call, std::move(in), common, "axis", 0);
    if (op == "softmax" || op == "log_softmax") return softmax(call, std::move(in), common);
    if (op == "slice") return slice(call, std::move(in), common);
    if (op == "pad") return pad(call, std::move(in), common);
    if (in_table(reduce_ops, call.op)) return reduce(call, std::move(in), common);
    if (op == "reshape" || op == "squeeze" || op == "unsqueeze" || op == "flatten")
      return reshape(call, common);
    return false;
  }

  /// Where dimension `axis` of the view is in its source; -1: it has none such.
  static int64_t source_axis(int64_t axis, const Perm& perm) {
    const auto rank = static_cast<int64_t>(perm.size());
    if (axis < -rank || axis >= rank) return -1;
    return perm[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  bool along(OpCall call, std::vector<ValueId> in, const View& v, const char* name,
             int64_t fallback) {
    const int64_t axis = source_axis(call.attrs.i(name, fallback), v.perm);
    if (axis < 0) return false;
    call.attrs.set(name, axis);
    put(std::move(call), std::move(in), v);
    return true;
  }

  /// Only along the last dimension are there kernels for it.
  bool softmax(const OpCall& call, std::vector<ValueId> in, const View& v) {
    const auto last = static_cast<int64_t>(v.perm.size()) - 1;
    if (source_axis(call.attrs.i("axis", -1), v.perm) != last) return false;
    return along(call, std::move(in), v, "axis", -1);
  }

  /// Input i as axes of the source; the first `count` of the view where it is absent.
  bool map_axes(const OpCall& call, size_t i, size_t count, const View& v, Perm& axes) const {
    axes.resize(count);
    std::iota(axes.begin(), axes.end(), 0);
    if (i < call.in.size() && call.in[i] != absent) {
      if (!p_[call.in[i]].constant) return false;
      axes = p_[call.in[i]].constant.to_ints();
    }
    for (int64_t& a : axes) a = source_axis(a, v.perm);
    return std::find(axes.begin(), axes.end(), -1) == axes.end();
  }

  bool slice(const OpCall& call, std::vector<ValueId> in, const View& v) {
    const Tensor& starts = p_[in[1]].constant;
    Perm axes;
    if (!starts || !map_axes(call, 3, static_cast<size_t>(starts.numel()), v, axes)) return false;
    if (in.size() < 4) in.resize(4, absent);
    in[3] = add(Tensor::ints(axes));
    put(call, std::move(in), v);
    return true;
  }

  bool pad(const OpCall& call, std::vector<ValueId> in, const View& v) {
    const Tensor& pads = p_[in[1]].constant;
    Perm axes;
    if (!pads || !map_axes(call, 3, v.perm.size(), v, axes)) return false;
    in.resize(4, absent);
    in[3] = add(Tensor::ints(axes));
    put(call, std::move(in), v);
    return true;
  }

  bool reduce(const OpCall& call, std::vector<ValueId> in, const View& v) {
    Perm axes;
    if (!map_axes(call, 1, v.perm.size(), v, axes) || axes.empty()) return false;
    if (in.size() < 2 && call.attrs.i("noop_with_empty_axes", 0) != 0) return false;
    in.resize(2, absent);
    in[1] = add(Tensor::ints(axes));
    Perm perm = v.perm;
    if (call.attrs.i("keepdims", 1) == 0) {
      std::erase_if(perm, [&](int64_t d) { return std::count(axes.begin(), axes.end(), d) > 0; });
      Perm sorted = perm;
      std::sort(sorted.begin(), sorted.end());
      for (int64_t& d : perm) d = std::find(sorted.begin(), sorted.end(), d) - sorted.begin();
    }
    put(call, std::move(in), v, perm);
    return true;
  }

  /// Dimensions of 1 come and go.
  bool reshape(const OpCall& call, const View& v) {
    if (specs_ == nullptr) return false;
    const Shape from = *shape(call.in[0]);
    const Shape to = *shape(call.out[0]);
    if (permuted(from, long_dims(from)) != permuted(to, long_dims(to))) return false;
    views_.emplace(call.out[0], tidy(v, from, to));
    return true;
  }

  Program& p_;
  std::vector<Spec>* specs_;
  const std::set<int>& fixed_;  ///< transposes to be left
  std::map<ValueId, View> views_;
  std::set<ValueId> made_;                       ///< of the views
  std::vector<int> together_;                    ///< transposes that met, as trees
  std::vector<std::pair<int, int64_t>> before_;  ///< what each transpose moves
  std::vector<std::pair<int, int64_t>> after_;   ///< and those written instead
};

}  // namespace

void push_transposes(Program& program, std::vector<Spec>* specs) {
  std::set<int> fixed;
  const auto transposes = std::count_if(program.ops.begin(), program.ops.end(),
                                        [](const OpCall& c) { return is(c, "transpose"); });
  while (fixed.size() < static_cast<size_t>(transposes)) {
    Program next = program;
    std::vector<Spec> next_specs = specs == nullptr ? std::vector<Spec>() : *specs;
    Pusher pusher(next, specs == nullptr ? nullptr : &next_specs, fixed);
    pusher.run();
    const auto worse = pusher.worse();
    if (worse.empty()) {
      program = std::move(next);
      if (specs != nullptr) *specs = std::move(next_specs);
      remove_dead(program);
      return;
    }
    fixed.insert(worse.begin(), worse.end());
  }
}

}  // namespace hub
