// tree_ensemble(x) of ai.onnx.ml 5, with its attributes under its names: decision trees over the
// rows of x [n, features], whose leaves' weights are aggregated by target into [n, n_targets].
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

enum Mode { leq, lt, gte, gt, eq, neq, member };
enum Aggregate { average, sum, least, most };

struct Trees {
  std::vector<int64_t> feature, mode, on_true, on_false, true_leaf, false_leaf, missing, target,
      roots;
  std::vector<double> split, weight;
  std::vector<std::vector<double>> members;  ///< of each node
  int64_t targets, aggregate;

  explicit Trees(const Attrs& a)
      : feature(a.ints("nodes_featureids")),
        mode(a.tensor("nodes_modes").to_ints()),
        on_true(a.ints("nodes_truenodeids")),
        on_false(a.ints("nodes_falsenodeids")),
        true_leaf(a.ints("nodes_trueleafs")),
        false_leaf(a.ints("nodes_falseleafs")),
        missing(a.ints("nodes_missing_value_tracks_true")),
        target(a.ints("leaf_targetids")),
        roots(a.ints("tree_roots")),
        split(to_doubles(a.tensor("nodes_splits"))),
        weight(to_doubles(a.tensor("leaf_weights"))),
        targets(a.i("n_targets")),
        aggregate(a.i("aggregate_function", sum)) {
    if (a.i("post_transform", 0) != 0)
      fail(Code::unsupported, "'post_transform' is ", a.i("post_transform"));
    check();
    members.resize(mode.size());
    if (!a.has("membership_values")) return;
    // The sets of the nodes in the order in which walking the trees meets them, NaN behind each.
    const auto values = to_doubles(a.tensor("membership_values"));
    size_t next = 0;
    std::vector<int64_t> waiting(roots.rbegin(), roots.rend());
    while (!waiting.empty()) {
      const auto node = static_cast<size_t>(waiting.back());
      waiting.pop_back();
      if (mode[node] == member) {
        for (; next < values.size() && !std::isnan(values[next]); ++next)
          members[node].push_back(values[next]);
        ++next;
      }
      if (false_leaf[node] == 0) waiting.push_back(on_false[node]);
      if (true_leaf[node] == 0) waiting.push_back(on_true[node]);
    }
  }

  /// Every index is in range, and every node is below its parent only: walks end.
  void check() const {
    const size_t n = mode.size();
    for (const auto* list : {&feature, &on_true, &on_false, &true_leaf, &false_leaf})
      if (list->size() != n) fail(Code::refused, "its lists of nodes differ in length");
    if (split.size() != n || target.size() != weight.size() ||
        (!missing.empty() && missing.size() != n))
      fail(Code::refused, "its lists of nodes or leaves differ in length");
    if (targets < 1 || targets > 1 << 24) fail(Code::refused, "'n_targets' is ", targets);
    if (aggregate < average || aggregate > most)
      fail(Code::refused, "'aggregate_function' is ", aggregate);
    std::vector<int> parents(n);
    auto inside = [](int64_t i, size_t size) {
      if (i < 0 || i >= static_cast<int64_t>(size))
        fail(Code::refused, "there is no node or leaf ", i);
      return static_cast<size_t>(i);
    };
    auto child = [&](int64_t to, int64_t leaf) {
      if (leaf != 0) {
        inside(to, weight.size());
      } else if (++parents[inside(to, n)] > 1) {
        fail(Code::refused, "node ", to, " is in two places");
      }
    };
    for (size_t i = 0; i < n; ++i) {
      child(on_true[i], true_leaf[i]);
      child(on_false[i], false_leaf[i]);
      if (mode[i] < leq || mode[i] > member) fail(Code::refused, "a node of mode ", mode[i]);
      if (feature[i] < 0) fail(Code::refused, "a node on feature ", feature[i]);
    }
    for (int64_t r : roots)
      if (parents[inside(r, n)]++ > 0) fail(Code::refused, "root ", r, " is inside a tree");
    for (int64_t t : target)
      if (t < 0 || t >= targets) fail(Code::refused, "there is no target ", t);
  }

  bool holds(size_t node, double v) const {
    if (std::isnan(v) && !missing.empty() && missing[node] != 0) return true;
    const double s = split[node];
    switch (mode[node]) {
      case leq: return v <= s;
      case lt: return v < s;
      case gte: return v >= s;
      case gt: return v > s;
      case eq: return v == s;
      case neq: return v != s;
      default:
        return std::find(members[node].begin(), members[node].end(), v) != members[node].end();
    }
  }

  /// The leaf of tree `root` for features x.
  template <class T>
  size_t leaf(int64_t root, const T* x) const {
    for (auto node = static_cast<size_t>(root);;) {
      const bool yes = holds(node, static_cast<double>(x[feature[node]]));
      const auto next = static_cast<size_t>(yes ? on_true[node] : on_false[node]);
      if ((yes ? true_leaf : false_leaf)[node] != 0) return next;
      node = next;
    }
  }
};

std::vector<Spec> infer_trees(const Infer& in) {
  const Shape& x = real_input(in, 0, 2, 2).shape;
  const Trees trees(in.attrs);
  for (int64_t f : trees.feature)
    if (f >= x[1]) fail(Code::refused, "a node on feature ", f, " of ", in.in(0).str());
  return {{in.in(0).dtype, {x[0], trees.targets}}};
}

void forward_trees(const Call& call) {
  const Trees trees(call.attrs);
  const int64_t features = call.x(0).shape()[1];
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const T start = trees.aggregate == least  ? Limits::max()
                    : trees.aggregate == most ? Limits::lowest()
                                              : T(0);
    const double share =
        trees.aggregate == average ? 1.0 / static_cast<double>(trees.roots.size()) : 1;
    std::fill_n(call.y().data<T>(), call.y().numel(), start);
    for (int64_t row = 0; row < call.x(0).shape()[0]; ++row) {
      for (int64_t root : trees.roots) {
        const size_t leaf = trees.leaf(root, call.x(0).data<T>() + row * features);
        T& y = call.y().data<T>()[row * trees.targets + trees.target[leaf]];
        const T w = static_cast<T>(trees.weight[leaf]);
        y = trees.aggregate == least  ? std::min(y, w)
            : trees.aggregate == most ? std::max(y, w)
                                      : y + static_cast<T>(trees.weight[leaf] * share);
      }
    }
  });
}

}  // namespace

extern const OpDef tree_ensemble_op = {
    .name = "tree_ensemble",
    .infer = infer_trees,
    .forward = widened<forward_trees>,
    .grad = zero_gradient,
    .imports = {{"ai.onnx.ml:TreeEnsemble", onnx_same<"tree_ensemble">}}};

}  // namespace hub
