#include "finetune/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ahead.h"
#include "base/error.h"
#include "base/text.h"
#include "finetune/batches.h"
#include "finetune/features.h"
#include "finetune/parameters.h"
#include "finetune/random.h"
#include "modules/adapt.h"

namespace hub {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

/// A Beta(a, a) number by Jöhnk's method.
double beta(double a, Random& random) {
  for (;;) {
    const double x = std::pow(random.real(), 1 / a), y = std::pow(random.real(), 1 / a);
    if (x + y > 0 && x + y <= 1) return x / (x + y);
  }
}

/// Each float row becomes λ of itself and 1 - λ of its partner (Zhang et al. 2018).
void mix(std::vector<Tensor>& tensors, double lambda, const std::vector<uint32_t>& partner) {
  for (Tensor& t : tensors) {
    if (t.dtype() != DType::f32 || t.shape().rank() < 2) continue;
    const Tensor before = t.clone();
    const int64_t row = t.numel() / t.shape()[0];
    for (int64_t i = 0; i < t.shape()[0]; ++i) {
      const float* other = before.data<float>() + partner[static_cast<size_t>(i)] * row;
      float* to = t.data<float>() + i * row;
      for (int64_t k = 0; k < row; ++k)
        to[k] = static_cast<float>(lambda * to[k] + (1 - lambda) * other[k]);
    }
  }
}

/// An activation may hide a number that is none (relu makes 0 of it): looked for at the door.
void check_inputs(std::span<const Item* const> items, const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs) {
    if (t.dtype() != DType::f32 || t.numel() == 0 || t.shape().rank() == 0) continue;
    const auto values = t.values<float>();
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) continue;
    const int64_t row = (bad - values.begin()) / (t.numel() / t.shape()[0]);
    fail(Code::numeric, items[static_cast<size_t>(row) % items.size()]->source,
         ": a number of its input is ", *bad, "; nothing was done with it");
  }
}

class Run {
 public:
  explicit Run(const TrainJob& job)
      : job_(job),
        o_(job.options),
        parameters_(job.network),
        states_(std::make_shared<NamedTensors>()) {
    const size_t n = job.train->items.size();
    if (n == 0) fail(Code::usage, "there are no rows to train on");
    batches_ = static_cast<int64_t>((n + static_cast<size_t>(o_.batch) - 1) /
                                    static_cast<size_t>(o_.batch));
    steps_an_epoch_ = (batches_ + o_.accumulate - 1) / o_.accumulate;
    name_ = job.objective->metric(lower_);
    if (!job.work.empty()) checkpoints_.emplace(job.work, job.identity);
  }

  TrainResult go() {
    resume();
    start_ = Clock::now();
    before_ = at_.seconds;
    const bool already = at_.ended;
    while (!already && ended_.empty() && at_.epoch < o_.epochs) epoch();
    TrainResult result;
    result.tuned = best_.empty() ? tuned() : best_;
    if (ended_ != "stopped" && !job_.validation->items.empty()) {
      try {
        result.metrics = evaluate(result.tuned, &result.hardest);
      } catch (const Stopped&) {
        ended_ = "stopped";  // the end of the epoch is saved already
      }
    }
    result.ended = ended_.empty() ? "finished" : ended_;
    if (!already && ended_ != "stopped") {
      at_.ended = true;
      save();
    }
    result.position = at_;
    result.train_loss = at_.train_loss;
    return result;
  }

  /// For a run that was asked to end before its first step.
  TrainResult leave() {
    std::vector<std::string> notes;  // said when it goes on
    if (checkpoints_ && (!job_.resume || !checkpoints_->newest(notes))) save();
    TrainResult result;
    result.ended = "stopped";
    return result;
  }

 private:
  void resume() {
    if (!job_.resume || !checkpoints_) return;
    std::vector<std::string> notes;
    auto found = checkpoints_->newest(notes);
    for (const std::string& n : notes) note(n);
    if (!found) {
      note("there is no checkpoint to go on from; starting anew");
      return;
    }
    at_ = found->position;
    loaded_.emplace();
    for (auto& [name, t] : found->states) {
      loaded_->insert(name);
      states_->insert_or_assign(name, t.clone());
    }
    best_ = std::move(found->best);
    if (!at_.ended && patience_is_over()) ended_ = "early-stop";
    note(concat("going on after step ", at_.step, ", epoch ", at_.epoch + 1, " of ", o_.epochs));
  }

  void note(std::string_view text) {
    if (job_.listener != nullptr) job_.listener->note(text);
  }
  double seconds() const { return before_ + since(start_); }

  // ---- the programs ----

  /// How many blocks from the head down train in this epoch.
  int stage(int64_t epoch) const {
    return o_.strategy == "gradual" ? static_cast<int>(std::min<int64_t>(epoch + 1, o_.blocks))
                                    : o_.blocks;
  }

  void build(int stage) {
    const auto trains = [&](std::string_view name) {
      return parameters_.trains(name, o_.strategy, o_.freeze, stage, o_.blocks);
    };
    const auto factor = [&](std::string_view name) {
      return std::pow(o_.layer_factor, -parameters_.blocks_above(name, o_.blocks));
    };
    const bool norm = o_.norm_train && (o_.strategy == "full" || o_.strategy == "gradual");
    const auto one = [&](StepKind kind, std::unique_ptr<Session>& session) {
      Program p = job_.network;
      const auto fresh = make_trainable(p, trains, norm);
      for (const auto& [name, t] : *fresh) states_->try_emplace(name, t);
      Vars outputs;
      for (ValueId id : job_.network.outputs) outputs.push_back({&p, id});
      const Var loss = job_.objective->loss(p, outputs);
      const auto step = append_step(p, loss, *states_, o_.optimizer, trains, factor, kind);
      p.outputs = {loss.id, step.squares.id};
      trained_ = step.names;
      session = std::make_unique<Session>(
          std::move(p), SessionOptions{.device = job_.device, .pack_file = {}, .states = states_});
    };
    one({.add = false, .take = o_.accumulate > 1, .recompute = o_.recompute}, step_);
    if (o_.accumulate > 1) one({.add = true, .take = false, .recompute = o_.recompute}, add_);
    if (loaded_ && at_.step > 0 && (o_.strategy != "gradual" || at_.batch > 0)) {
      for (const auto& [name, t] : *states_)
        if (!loaded_->contains(name))
          fail(Code::refused, "the checkpoint lacks '", name,
               "', which this run trains; start anew "
               "without --resume");
    }
    loaded_.reset();
    stage_ = stage;
  }

  /// What the network's own constants have become.
  NamedTensors tuned() const {
    NamedTensors all;
    for (const auto& [name, t] : *states_) {
      const ValueId id = job_.network.find(name);
      if (id == absent || !job_.network[id].constant) continue;
      const auto average = states_->find(concat(ema_prefix, name));
      all.emplace(name, (average == states_->end() ? t : average->second).clone());
    }
    return all;
  }

  // ---- the loop ----

  Batch make(const std::vector<uint32_t>& order, size_t number, uint64_t epoch) const {
    const size_t begin = number * static_cast<size_t>(o_.batch);
    const size_t end = std::min(order.size(), begin + static_cast<size_t>(o_.batch));
    std::vector<const Item*> items;
    for (size_t i = begin; i < end; ++i) items.push_back(&job_.train->items[order[i]]);
    Batch b;
    b.inputs = job_.encode(items, epoch, true);
    check_inputs(items, b.inputs);
    std::vector<Tensor> targets = job_.objective->targets(items, b.inputs, b.weight);
    b.rows = items.size();
    if (o_.mixup > 0) {
      Random random(o_.seed, epoch, number, 0x31bU);
      const double lambda = beta(o_.mixup, random);
      const auto partner = shuffled(b.rows, random.next(), 0);
      mix(b.inputs, lambda, partner);
      mix(targets, lambda, partner);
    }
    for (Tensor& t : targets) b.inputs.push_back(std::move(t));
    return b;
  }

  void epoch() {
    if (step_ == nullptr || stage(at_.epoch) != stage_) build(stage(at_.epoch));
    const size_t n = job_.train->items.size();
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    if (o_.shuffle) order = shuffled(n, o_.seed, static_cast<uint64_t>(at_.epoch));
    {
      Ahead<Batch> ahead(static_cast<size_t>(at_.batch), static_cast<size_t>(batches_), o_.loaders,
                  static_cast<size_t>(2 * o_.loaders),
                  [&, epoch = static_cast<uint64_t>(at_.epoch)](size_t number) {
                    return make(order, number, epoch);
                  });
      while (at_.batch < batches_ && ended_.empty()) {
        std::vector<Batch> group;
        const int64_t left = batches_ - at_.batch;
        for (int64_t k = 0; k < std::min<int64_t>(left, o_.accumulate); ++k)
          group.push_back(within(concat("step ", at_.step + 1), [&] { return ahead.take(); }));
        step(group);
        if (o_.time_budget > 0 && seconds() >= o_.time_budget) ended_ = "time-budget";
        if (stopped()) ended_ = "stopped";
        if (ended_ == "stopped" || (o_.checkpoint_every > 0 && at_.step % o_.checkpoint_every == 0))
          save();
      }
    }
    if (ended_ != "stopped") end_of_epoch();
  }

  bool patience_is_over() const { return o_.early_stop > 0 && at_.worse >= o_.early_stop; }
  bool stopped() const { return job_.stop != nullptr && job_.stop->load() != 0; }

  void step(std::vector<Batch>& group) {
    const auto began = Clock::now();
    double weight = 0;
    size_t rows = 0;
    for (const Batch& b : group) {
      weight += b.weight;
      rows += b.rows;
    }
    const Tensor norm = Tensor::scalar(static_cast<float>(std::max(weight, 1e-12)));
    const double rate = o_.rate * o_.schedule.at(at_.step, steps_an_epoch_ * o_.epochs);
    double loss = 0;
    std::vector<Tensor> out;
    for (size_t k = 0; k < group.size(); ++k) {
      std::vector<Tensor>& in = group[k].inputs;
      in.push_back(norm);
      const bool last = k + 1 == group.size();
      if (last) {
        in.push_back(Tensor::scalar(static_cast<float>(rate)));
        in.push_back(Tensor::ints({at_.step + 1}).reshaped({}));
      }
      out = (last ? *step_ : *add_).run(in);
      loss += out[0].data<float>()[0];
      check(loss, out[1]);
    }
    at_.batch += static_cast<int64_t>(group.size());
    ++at_.step;
    at_.loss_sum += loss * weight;
    at_.loss_weight += weight;
    at_.seconds = seconds();
    const double took = since(began);
    pace_ = pace_ == 0 ? took : 0.9 * pace_ + 0.1 * took;
    if (job_.listener == nullptr) return;
    double square = 0;
    for (float s : out[1].values<float>()) square += s;
    const double left = static_cast<double>(steps_an_epoch_ * o_.epochs - at_.step) * pace_;
    const double budget = o_.time_budget > 0 ? std::max(0.0, o_.time_budget - at_.seconds) : left;
    job_.listener->step({at_.epoch, at_.batch, batches_, at_.step, loss,
                         at_.loss_sum / at_.loss_weight, rate, std::sqrt(square), at_.seconds,
                         static_cast<double>(rows) / std::max(pace_, 1e-9),
                         std::min(left, budget)});
  }

  void check(double loss, const Tensor& squares) const {
    const auto s = squares.values<float>();
    for (size_t i = 0; i < s.size(); ++i) {
      if (std::isfinite(s[i])) continue;
      fail(Code::numeric, "step ", at_.step + 1, ": the gradient of '", trained_[i],
           "' is not finite (loss ", loss, "); the step was not applied",
           job_.work.empty() ? "" : ", the last checkpoint is as it was",
           ". A lower learning rate, clipping or a look at the data helps");
    }
    if (!std::isfinite(loss))
      fail(Code::numeric, "step ", at_.step + 1, ": the loss is ", loss,
           "; the step was not applied",
           job_.work.empty() ? "" : ", the last checkpoint is as it was");
  }

  Metrics evaluate(const NamedTensors& tensors, Hardest* hardest = nullptr) const {
    return measured(with_tensors(job_.network, tensors), job_.device, job_.encode, *job_.objective,
                    *job_.validation, o_.loaders, hardest, job_.stop);
  }

  void end_of_epoch() {
    at_.train_loss = at_.loss_weight > 0 ? at_.loss_sum / at_.loss_weight : 0;
    if (!job_.validation->items.empty()) {
      NamedTensors now = tuned();
      Metrics metrics;
      try {
        metrics = evaluate(now);
      } catch (const Stopped&) {  // it goes on with this evaluation
        ended_ = "stopped";
        save();
        return;
      }
      const double value = metrics.at(name_);
      if (!std::isfinite(value))
        fail(Code::numeric, "after step ", at_.step, " the ", name_, " of the validation rows is ",
             value);
      const bool better = !at_.best || (lower_ ? value < *at_.best - o_.min_delta
                                               : value > *at_.best + o_.min_delta);
      if (better) {
        at_.best = value;
        at_.best_epoch = at_.epoch;
        at_.worse = 0;
        best_ = std::move(now);
      } else {
        ++at_.worse;
      }
      if (job_.listener != nullptr)
        job_.listener->evaluated(at_.epoch, at_.step, at_.train_loss, metrics, better);
      if (ended_.empty() && patience_is_over()) ended_ = "early-stop";
    }
    ++at_.epoch;
    at_.batch = 0;
    at_.loss_sum = at_.loss_weight = 0;
    at_.seconds = seconds();
    save();
    if (ended_.empty() && stopped()) ended_ = "stopped";
  }

  void save() {
    if (!checkpoints_) return;
    for (const auto& [name, t] : *states_) {
      if (t.dtype() != DType::f32) continue;
      for (float v : t.values<float>())
        if (!std::isfinite(v))
          fail(Code::numeric, "after step ", at_.step, " '", name,
               "' is not finite; this is not "
               "saved, the last checkpoint is as it was. A lower learning rate or clipping helps");
    }
    const std::string path = checkpoints_->save({at_, *states_, best_});
    if (job_.listener != nullptr) job_.listener->checkpointed(at_.step, path);
  }

  const TrainJob& job_;
  const TrainOptions& o_;
  Parameters parameters_;
  std::shared_ptr<NamedTensors> states_;
  NamedTensors best_;
  std::optional<Checkpoints> checkpoints_;
  std::unique_ptr<Session> step_, add_;
  std::vector<std::string> trained_;
  std::optional<std::set<std::string>> loaded_;  ///< states that a checkpoint brought
  int stage_ = -1;
  int64_t batches_ = 0, steps_an_epoch_ = 0;
  Position at_;
  std::string name_, ended_;
  bool lower_ = false;
  double before_ = 0, pace_ = 0;
  Clock::time_point start_;
};

}  // namespace

Program with_tensors(const Program& network, const NamedTensors& tuned) {
  Program p = network;
  for (const auto& [name, t] : tuned) {
    const ValueId id = p.find(name);
    if (id != absent && p[id].constant) p[id].constant = t;
  }
  return p;
}

Metrics measured(const Program& network, const std::string& device, const Encode& encode,
                 const Objective& objective, const Dataset& data, int loaders, Hardest* hardest,
                 const std::atomic<int>* stop) {
  constexpr size_t most = 100;
  const auto measure = objective.measure();
  Hardest all;
  run_over(
      network, device, encode, data, 32, loaders,
      [&](auto items, auto outputs) {
        measure->add(items, outputs);
        if (hardest == nullptr) return;
        const auto bad = objective.badness(items, outputs);
        for (size_t i = 0; i < bad.size(); ++i) all.emplace_back(bad[i], items[i]);
      },
      stop);
  if (hardest != nullptr) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    all.resize(std::min(all.size(), most));
    *hardest = std::move(all);
  }
  return measure->result();
}

void run_over(
    const Program& network, const std::string& device, const Encode& encode, const Dataset& data,
    size_t batch, int loaders,
    const std::function<void(std::span<const Item* const>, std::span<const Tensor>)>& each,
    const std::atomic<int>* stop) {
  std::vector<const Item*> order;
  for (const Item& item : data.items) order.push_back(&item);
  // Texts of like length go together: less padding.
  std::stable_sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return a->text.size() + a->text_b.size() > b->text.size() + b->text_b.size();
  });
  Session session(network, {.device = device, .pack_file = {}, .states = {}});
  const size_t count = (order.size() + batch - 1) / batch;
  const auto items = [&](size_t k) {
    return std::span(order).subspan(k * batch, std::min(batch, order.size() - k * batch));
  };
  Ahead<Batch> ahead(0, count, loaders, static_cast<size_t>(2 * loaders), [&](size_t k) {
    Batch b{encode(items(k), 0, false), 0, items(k).size()};
    check_inputs(items(k), b.inputs);
    return b;
  });
  for (size_t k = 0; k < count; ++k) {
    if (stop != nullptr && stop->load() != 0) throw Stopped{};
    each(items(k), session.run(ahead.take().inputs));
  }
}

TrainResult train(const TrainJob& job) {
  job.options.check();
  const bool once =
      job.options.strategy == "head" && job.options.augment.empty() && job.options.mixup == 0;
  if (once) {
    std::optional<FeatureJob> features;
    try {
      features = feature_job(job);
    } catch (const Stopped&) {
      return Run(job).leave();
    }
    if (features) return Run(features->job).go();
  }
  return Run(job).go();
}

}  // namespace hub
