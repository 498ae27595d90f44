// The tuner: a base module and data become a training job, and its result a module.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "finetune/augment.h"
#include "finetune/finetune.h"
#include "finetune/plan.h"
#include "finetune/report/event_file.h"
#include "finetune/report/run_log.h"
#include "finetune/saved.h"
#include "hub/name.h"

namespace hub {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Writes run.jsonl and the event file, and passes everything on.
class Recorder final : public TrainListener {
 public:
  Recorder(TrainListener* next, const std::string& folder, std::string name, Pairs settings,
           std::string metric)
      : next_(next),
        folder_(folder),
        name_(std::move(name)),
        settings_(std::move(settings)),
        metric_(std::move(metric)) {}

  /// Before the first step, or after the step that a resumed run goes on from.
  void open(int64_t step) {
    if (folder_.empty() || log_) return;
    const std::string path = folder_ + "/run.jsonl";
    if (step > 0 && exists(path)) {
      log_.emplace(path, step);
    } else {
      log_.emplace(path);
    }
    log_->start(step, name_, settings_);
    make_folders(folder_ + "/events");
    events_.emplace(folder_ + "/events", unix_time(), step);
    std::string table = "| setting | value |\n|--|--|\n";
    for (const auto& [key, value] : settings_) table += concat("| ", key, " | ", value, " |\n");
    events_->text("settings", table, unix_time());
  }

  void step(const Step& s) override {
    open(s.step - 1);
    if (log_) {
      log_->step({s.step, s.epoch, s.loss, s.rate, s.rows_per_second, s.seconds});
      events_->scalar("loss/train", s.step, s.loss, unix_time());
      events_->scalar("learning_rate", s.step, s.rate, unix_time());
      events_->scalar("gradient_norm", s.step, s.gradient_norm, unix_time());
    }
    last_ = s;
    if (next_ != nullptr) next_->step(s);
  }
  void evaluated(int64_t epoch, int64_t step, double loss, const Metrics& m, bool best) override {
    open(step);
    if (log_) {
      log_->eval(step, epoch, "validation", metric_, m);
      for (const auto& [name, value] : m.values)
        events_->scalar(concat(name, "/validation"), step, value, unix_time());
      events_->flush();
    }
    if (next_ != nullptr) next_->evaluated(epoch, step, loss, m, best);
  }
  void checkpointed(int64_t step, const std::string& path) override {
    if (log_) log_->checkpoint(step, path);
    if (next_ != nullptr) next_->checkpointed(step, path);
  }
  void note(std::string_view text) override {
    if (next_ != nullptr) next_->note(text);
  }
  void end(const std::string& reason) {
    if (log_) log_->end(last_.step, reason, last_.seconds);
    if (events_) events_->flush();
  }

 private:
  TrainListener* next_;
  std::string folder_, name_;
  Pairs settings_;
  std::string metric_;
  std::optional<RunLog> log_;
  std::optional<EventFile> events_;
  Step last_{};
};

std::vector<float> class_weights(const std::string& words, const Dataset& train) {
  const size_t n = train.classes.size();
  if (words.empty()) return {};
  std::vector<float> weights;
  if (words == "balanced") {
    std::vector<int64_t> rows(n);
    for (const Item& item : train.items)
      for (int32_t label : item.labels) ++rows.at(static_cast<size_t>(label));
    for (int64_t count : rows)
      weights.push_back(static_cast<float>(train.items.size()) /
                        static_cast<float>(static_cast<int64_t>(n) * std::max<int64_t>(count, 1)));
    return weights;
  }
  for (std::string_view word : split(words, ',')) {
    char* end = nullptr;
    const std::string text(word);
    weights.push_back(std::strtof(text.c_str(), &end));
    if (text.empty() || *end != 0 || !(weights.back() >= 0))
      fail(Code::usage, "class weight '", printable(text), "' is no number");
  }
  if (weights.size() != n) fail(Code::usage, weights.size(), " class weights for ", n, " classes");
  return weights;
}

/// What suits each strategy and kind of input, found on the sets of docs/finetune.md.
double usual_rate(const std::string& strategy, InputKind kind) {
  if (strategy == "head") return 1e-2;
  if (strategy == "lora") return kind == InputKind::text ? 5e-4 : 1e-3;
  return kind == InputKind::text ? 5e-5 : 1e-3;
}

}  // namespace

struct Tuner::Impl {
  explicit Impl(Installed from) : base(std::move(from)) {}
  Installed base;
  std::shared_ptr<Hub> hub;  ///< and `folder`: of a Loaded base
  std::string folder;
  TunerOptions options;
  std::string name, version;
  TunePlan plan;
  TrainOptions train;
  std::unique_ptr<Draft> draft;
  std::unique_ptr<Objective> objective;
  Program network;
  NamedTensors before;  ///< what fine-tuning had changed in the base already
  TrainResult result;
  Splits splits;
  Silent silent;

  /// Network and head before training.
  Program start() {
    const auto opened = Module::open(base, silent, options.device);
    Program p = opened->bare_program(plan.network);
    const NetworkSpec& spec = base.manifest.networks.at(plan.network);
    if (spec.tuned) before = read_safetensors(base.files->open(*spec.tuned));
    const auto same = plan_labels(*opened) == plan.labels && !spec.head.empty();
    if (!same) erase_head(before);
    NamedTensors tensors = before;
    if (train.strategy == "lora") {
      for (auto& [key, t] : lora_tensors(p, train.lora_rank, train.seed)) tensors.emplace(key, t);
    }
    adapt(p, plan.head, tensors, train.seed);
    return p;
  }

  /// All that differs from the base's file in the module that is made.
  NamedTensors changed() const {
    NamedTensors tensors = before;
    for (const auto& [key, t] : result.tuned) tensors.insert_or_assign(key, t);
    if (!plan.keep_head) erase_head(tensors);
    return tensors;
  }

  /// The trained network without the head that only training needed.
  Program headless() {
    Program p = Module::open(base, silent, options.device)->bare_program(plan.network);
    adapt(p, {}, changed());
    return p;
  }

  static void erase_head(NamedTensors& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.first.starts_with("head."); });
  }

  static std::vector<std::string> plan_labels(Module& module) {
    return module.manifest().postprocess.contains("labels") ? plan_of(module).labels
                                                            : std::vector<std::string>{};
  }

  Encode encode() {
    Task& task = draft->module().task();
    const InputKind kind = task.input();
    return [&task, kind, plan = plan, augment = train.augment, seed = train.seed,
            first = splits.train.items.data()](std::span<const Item* const> items, uint64_t epoch,
                                               bool training) {
      std::vector<Sample> samples = samples_of(items, plan, kind);
      if (training && !augment.empty() && kind == InputKind::image) {
        for (size_t i = 0; i < items.size(); ++i)
          samples[i].image =
              augmented(samples[i].image, augment, Random(seed, epoch, items[i] - first, 0xa06U));
      }
      return task.encode(samples);
    };
  }

  json identity() const {
    json settings = json::object();
    for (const auto& [key, value] : train.pairs()) {
      if (key != "time budget" && key != "early stop") settings[key] = value;
    }
    return {{"base", Sha256::of(base.manifest.text).hex()},
            {"data", splits.train.digest},
            {"task", plan.task},
            {"head", to_json(*plan.head)},
            {"options", settings}};
  }
};

Tuner::Tuner(Installed base, TunerOptions options)
    : impl_(std::make_unique<Impl>(std::move(base))) {
  const Request request = Request::parse(options.name);
  impl_->name = request.name.str();
  impl_->version = request.version ? request.version->str() : "1.0.0";
  impl_->options = std::move(options);
}

Tuner::Tuner(Loaded base, TunerOptions options)
    : Tuner(static_cast<Installed>(base), std::move(options)) {
  impl_->hub = std::move(base.hub);
  impl_->folder = std::move(base.folder);
}

Tuner::~Tuner() = default;

const TrainResult& Tuner::fit(const Dataset& rows, TrainOptions options) {
  Splits splits;
  splits.task = impl_->options.task;
  splits.found = concat(rows.items.size(), " rows");
  splits.made = true;
  make_splits(rows, DataOptions{}.validation, 0, options.seed, splits.task, splits);
  return fit(splits, std::move(options));
}

const TrainResult& Tuner::fit(const Splits& splits, TrainOptions options) {
  Impl& s = *impl_;
  s.splits = splits;
  const auto obstacles = hub::obstacles(splits);
  if (!obstacles.empty()) fail(Code::usage, "this data cannot be trained on: ", obstacles[0]);
  s.plan = plan_tuning(s.base.manifest, s.options.task.empty() ? splits.task : s.options.task,
                       splits.train.classes, s.options.crf);
  s.train = std::move(options);
  if (!s.plan.keep_head && s.train.strategy == "head")
    fail(Code::usage, "a module for ", s.plan.task,
         " has no head of its own to train; use the "
         "strategies full, gradual or lora");
  s.draft = std::make_unique<Draft>(s.base, s.plan, s.name, s.version, s.options.device);
  Task& task = s.draft->module().task();
  if (s.train.rate == 0) {
    const bool own = s.plan.rate > 0 && s.train.strategy != "head";
    s.train.rate = own ? s.plan.rate : usual_rate(s.train.strategy, task.input());
  }
  s.train.check();
  s.objective = make_objective(
      s.plan, {splits.train.classes, class_weights(s.train.class_weights, splits.train),
               s.train.label_smoothing, &task});
  s.network = s.start();
  s.draft->module().use(s.plan.network, s.network);

  const std::string id = concat(s.name, "@", s.version);
  bool lower = false;
  if (!s.options.work.empty()) make_folders(s.options.work);
  Recorder recorder(s.options.listener, s.options.work, id, s.train.pairs(),
                    s.objective->metric(lower));
  TrainJob job;
  job.network = s.network;
  job.objective = s.objective.get();
  job.encode = s.encode();
  job.train = &s.splits.train;
  job.validation = &s.splits.validation;
  job.options = s.train;
  job.device = s.options.device;
  job.work = s.options.work;
  job.identity = s.identity();
  if (!s.options.features.empty()) {
    make_folders(s.options.features);
    // Base, data and preparation decide what the features are.
    const std::string key = concat(Sha256::of(s.base.manifest.text).hex(), s.splits.train.digest,
                                   s.splits.validation.digest);
    job.features = concat(s.options.features, "/", Sha256::of(key).hex().substr(0, 32));
  }
  job.resume = s.options.resume;
  job.stop = s.options.stop;
  job.listener = &recorder;
  try {
    s.result = hub::train(job);
  } catch (const Error& e) {
    recorder.end(e.what());
    throw;
  }
  recorder.end(s.result.ended);
  s.network = with_tensors(s.network, s.result.tuned);
  s.draft->module().use(s.plan.network, s.plan.keep_head ? s.network : s.headless());
  if (!s.options.work.empty() && s.result.ended != "stopped")
    write_file(s.options.work + "/report.html", report_html(report()));
  return s.result;
}

Module& Tuner::module() {
  if (!impl_->draft) fail(Code::usage, "nothing was trained yet: call fit first");
  return impl_->draft->module();
}

Metrics Tuner::evaluate(const Dataset& data) {
  module();
  return measured(impl_->network, impl_->options.device, impl_->encode(), *impl_->objective, data,
                  impl_->train.loaders);
}

Manifest Tuner::write(const std::string& folder) {
  Impl& s = *impl_;
  SavedParts parts;
  parts.tuned = s.changed();
  parts.settings = s.train.pairs();
  parts.metrics = s.result.metrics;
  parts.splits = &s.splits;
  parts.seed = s.train.seed;
  return s.draft->write(folder, parts);
}

Installed Tuner::save(Hub& hub) {
  const std::string& work = impl_->options.work;
  if (work.empty() && impl_->folder.empty())
    fail(Code::usage, "a module is saved from a work folder; none was given");
  const std::string folder =
      work.empty() ? concat(impl_->folder, "/", impl_->name, "-", impl_->version, "/module")
                   : work + "/module";
  const Manifest manifest = write(folder);
  std::map<RelPath, std::string> sources;
  for (const FileEntry& file : manifest.files) {
    const std::string path = concat(folder, "/", file.path.str());
    if (exists(path)) sources.emplace(file.path, path);
  }
  return hub.add(manifest, sources);
}

Installed Tuner::save(const std::string& name) {
  module();
  if (!impl_->hub)
    fail(Code::usage, "the base was not loaded by name; save to a Hub instead of '",
         printable(name), "'");
  const Request request = Request::parse(name);
  impl_->name = request.name.str();
  impl_->version = request.version ? request.version->str() : "1.0.0";
  impl_->draft->rename(impl_->name, impl_->version);
  return save(*impl_->hub);
}

std::string tuned_metric(const Manifest& base, const Splits& splits, bool* lower) {
  const TunePlan plan = plan_tuning(base, splits.task, splits.train.classes);
  bool less = false;
  const std::string name =
      make_objective(plan, {splits.train.classes, {}, 0, nullptr})->metric(less);
  if (lower != nullptr) *lower = less;
  return name;
}

std::string data_task(const Manifest& module) {
  if (module.task == "text-regression") return std::string(task_regression);
  if (module.postprocess.value("multi_label", false)) return "multi-label-classification";
  return module.task;
}

EvalResult evaluate_module(Module& module, const Dataset& data, size_t worst) {
  const TunePlan plan = plan_of(module);
  // Labels by name: the data may list them in another order, or lack some.
  std::vector<int32_t> index;
  for (const std::string& name : data.classes) {
    const auto it = std::find(plan.labels.begin(), plan.labels.end(), name);
    if (it == plan.labels.end() && !plan.labels.empty())
      fail(Code::usage, "the data has the class '", printable(name), "', which ",
           module.manifest().id(), " does not know; it knows ",
           one_of({plan.labels.begin(),
                   plan.labels.begin() +
                       static_cast<std::ptrdiff_t>(std::min<size_t>(plan.labels.size(), 20))}));
    index.push_back(static_cast<int32_t>(it - plan.labels.begin()));
  }
  Dataset renamed = data;
  renamed.classes = plan.labels;
  for (Item& item : renamed.items)
    for (int32_t& label : item.labels) label = index.at(static_cast<size_t>(label));
  Task& task = module.task();
  const auto objective = make_objective(plan, {plan.labels, {}, 0, &task});
  const InputKind kind = task.input();
  const Encode encode = [&](std::span<const Item* const> items, uint64_t, bool) {
    return task.encode(samples_of(items, plan, kind));
  };
  Program network = module.program(plan.network);
  module.use(plan.network, network);
  if (!plan.keep_head) adapt(network, plan.head, {});
  EvalResult result;
  Hardest hardest;
  result.metrics = measured(network, "cpu", encode, *objective, renamed, 2, &hardest);
  result.worst = worst_cases(hardest, plan.labels, module, worst);
  return result;
}

ReportData Tuner::report(size_t worst) {
  Impl& s = *impl_;
  ReportData data;
  data.title = concat(s.name, "@", s.version);
  data.summary = concat("Fine-tuned from ", s.base.manifest.id(), " for ", s.plan.task, ".");
  data.data = data_pairs(s.splits);
  data.settings = s.train.pairs();
  if (!s.options.work.empty()) data.charts = charts_of_run(s.options.work + "/run.jsonl");
  data.measured_on = concat("validation set, ", s.splits.validation.items.size(), " rows");
  data.metrics = s.result.metrics;
  data.worst = worst_cases(s.result.hardest, s.splits.train.classes, s.draft->module(), worst);
  data.warnings = s.splits.train.warnings;
  return data;
}

}  // namespace hub
