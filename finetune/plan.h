// Which task of a module can become which: head, post-processing and objective by the kind of data.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "finetune/data/dataset.h"
#include "finetune/objective.h"
#include "modules/adapt.h"
#include "modules/module.h"

namespace hub {

struct TunePlan {
  std::string task;                  ///< of the module that is made
  std::string network;               ///< of the base: the one that trains
  std::optional<Head> head;          ///< behind its features, in training
  bool keep_head = true;             ///< the module that is made has it too
  json preprocess = json::object();  ///< empty: as of the base
  json postprocess = json::object();
  std::vector<std::string> labels;  ///< written to labels.txt when not empty
  double rate = 0;  ///< of full training, where the usual one does not suit the network
};

/// `task`: as of the data ("regression", "multi-label…", …; else a classification). `crf`: tags are
/// a path. Throws Code::unsupported naming what the base cannot become.
TunePlan plan_tuning(const Manifest& base, const std::string& task,
                     const std::vector<std::string>& classes, bool crf = false);
std::unique_ptr<Objective> make_objective(const TunePlan& plan, ObjectiveOptions options);
/// For a module that is trained already: the plan that its manifest is the result of.
TunePlan plan_of(Module& module);

/// The sample that a row is for the task. Pictures are read here; the text of a tagged row is its
/// tokens, with blanks between words.
Sample sample_of(const Item& item, InputKind kind);
/// What the network sees of some rows: a sample each, of pairs for an embedding two (all first
/// texts, then all second ones).
std::vector<Sample> samples_of(std::span<const Item* const> items, const TunePlan& plan,
                               InputKind kind);

}  // namespace hub
