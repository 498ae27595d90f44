// What a network is trained towards: the loss behind its outputs, the targets of a batch, how it is
// measured. One a kind of target; which task has which stands in plan.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "finetune/data/dataset.h"
#include "finetune/metrics/metrics.h"
#include "modules/task.h"
#include "runtime/runtime.h"

namespace hub {

struct ObjectiveOptions {
  std::vector<std::string> classes;
  std::vector<float> class_weights;  ///< one a class; empty: all 1
  double label_smoothing = 0;
  Task* task = nullptr;  ///< of the module, for what it alone knows (spans)
};

/// Metrics of a data set, fed batch by batch.
class Measure {
 public:
  virtual ~Measure() = default;
  /// What the network gave for these items.
  virtual void add(std::span<const Item* const> items, std::span<const Tensor> outputs) = 0;
  virtual Metrics result() const = 0;
};

class Objective {
 public:
  virtual ~Objective() = default;
  /// Appends inputs for the targets and the loss: its sum over the rows of the batch divided by the
  /// float32 input "norm".
  virtual Var loss(Program& program, const Vars& outputs) const = 0;
  /// The tensors for these inputs, in order, without "norm". `encoded` are the network's inputs for
  /// the same items. `weight` becomes what the batch counts: the sum of its rows' weights.
  virtual std::vector<Tensor> targets(std::span<const Item* const> items,
                                      std::span<const Tensor> encoded, double& weight) const = 0;
  virtual std::unique_ptr<Measure> measure() const = 0;
  /// How bad one item is, for the worst cases; higher is worse. `outputs` are of one batch.
  virtual std::vector<double> badness(std::span<const Item* const> items,
                                      std::span<const Tensor> outputs) const = 0;
  /// The value of `Metrics` that a better model has more of ("accuracy") or, with `lower`, less of.
  virtual std::string metric(bool& lower) const = 0;
};

std::unique_ptr<Objective> class_objective(ObjectiveOptions options);
std::unique_ptr<Objective> multi_label_objective(ObjectiveOptions options);
std::unique_ptr<Objective> number_objective();
/// Texts of a pair find each other. The network's rows: all first texts, then all second ones.
std::unique_ptr<Objective> pairs_objective();
/// A class a token; with `crf`, the path of a network whose head has transitions.
std::unique_ptr<Objective> tags_objective(ObjectiveOptions options, bool crf);
/// A part of a text. `task`, which says where its tokens are, outlives the objective.
std::unique_ptr<Objective> span_objective(Task* task);

/// Input "norm" of the program, made on first use.
Var norm_input(Program& program);
/// Σ losses / norm.
Var divided_sum(Program& program, Var losses);
/// The text of an item's answer.
std::string answer_of(const Item& item);

}  // namespace hub
