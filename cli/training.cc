#include "cli/training.h"

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

std::atomic<int> caught{0};

void on_signal(int signal) {
  if (caught.exchange(signal) != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

constexpr int signals[] = {SIGTERM, SIGINT, SIGUSR1};

}  // namespace

StopSignals::StopSignals() {
  caught = 0;
  for (int s : signals) std::signal(s, on_signal);
}
StopSignals::~StopSignals() {
  for (int s : signals) std::signal(s, SIG_DFL);
}
const std::atomic<int>* StopSignals::flag() const { return &caught; }

double seconds_of(std::string_view name, const std::string& text) {
  if (text.empty()) return 0;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (scale == 0 || !(value > 0))
    fail(Code::usage, name, " is '", printable(text), "', wanted a time like 90, 15m or 2h");
  return value * scale;
}

DataOptions data_options(const Args& args) {
  DataOptions o;
  o.task = args.text("--task");
  o.table.text = args.text("--text");
  o.table.text_b = args.text("--pair");
  o.table.group = args.text("--group");
  if (const std::string labels = args.text("--label"); !labels.empty()) {
    for (std::string_view name : split(labels, ',')) o.table.labels.emplace_back(name);
  }
  o.encoding = args.text("--encoding");
  o.strict = args.flag("--strict");
  o.validation = real_number(args, "--validation", 0.1);
  o.test = real_number(args, "--test", 0);
  o.seed = static_cast<uint64_t>(args.number("--seed", 0));
  return o;
}

std::vector<Argument> with_data_arguments(std::vector<Argument> own) {
  const std::vector<Argument> more = {
      {"--text", "text", "column of the text"},
      {"--pair", "text", "column of the second text"},
      {"--label", "text", "column of the label; several by commas: multi-label"},
      {"--group", "text", "column whose equal values stay in one split"},
      {"--task", "text",
       "classification, multi-label, regression, sentence-embedding, sequence-labelling or "
       "reading-comprehension; else as the data looks"},
      {"--encoding", "text", "of text files", "utf-8"},
      {"--strict", "flag", "refuse rows that cannot be used instead of leaving them out"},
      {"--validation", "text", "share of the rows for validation, where the data has no split",
       "0.1"},
      {"--test", "text", "share of the rows for a test", "0"},
      {"--seed", "number", "of splits, order and new parameters", "1"},
  };
  own.insert(own.end(), more.begin(), more.end());
  return own;
}

TrainOptions train_options(const Args& args) {
  TrainOptions o;
  o.epochs = args.number("--epochs", 1);
  o.batch = args.number("--batch", 1);
  o.rate = real_number(args, "--lr", 0);
  o.strategy = args.text("--strategy");
  o.freeze = args.text("--freeze");
  o.norm_train = !args.flag("--freeze-norm");
  o.layer_factor = real_number(args, "--layer-factor", 1);
  o.blocks = args.number("--blocks", 1);
  o.lora_rank = args.number("--lora-rank", 1);
  o.optimizer.kind = args.text("--optimizer");
  o.optimizer.weight_decay = real_number(args, "--weight-decay", 0.01);
  o.optimizer.decay_all = args.flag("--decay-all");
  o.optimizer.momentum = real_number(args, "--momentum", 0.9);
  o.optimizer.clip_norm = real_number(args, "--clip", 0);
  o.optimizer.l2sp = real_number(args, "--l2sp", 0);
  o.optimizer.ema = real_number(args, "--ema", 0);
  o.schedule.kind = args.text("--schedule");
  o.schedule.warmup = real_number(args, "--warmup", 0.1);
  o.label_smoothing = real_number(args, "--label-smoothing", 0);
  o.class_weights = args.text("--class-weights");
  o.mixup = real_number(args, "--mixup", 0);
  o.augment = args.text("--augment");
  o.accumulate = args.number("--accumulate", 1);
  o.seed = static_cast<uint64_t>(args.number("--seed", 0));
  o.shuffle = !args.flag("--no-shuffle");
  o.time_budget = seconds_of("--time-budget", args.text("--time-budget"));
  o.early_stop = args.number("--early-stop", 0);
  o.recompute = args.flag("--recompute");
  o.checkpoint_every = args.number("--checkpoint-every", 0);
  return o;
}

std::vector<Argument> with_train_arguments(std::vector<Argument> own) {
  const std::vector<Argument> more = {
      {"--epochs", "number", "passes over the rows", "3"},
      {"--batch", "number", "rows a step", "16"},
      {"--lr", "text", "highest learning rate; else one that suits the strategy"},
      {"--strategy", "text", "full, head, lora or gradual", "full"},
      {"--freeze", "text", "parts of names of parameters that do not train, by commas"},
      {"--freeze-norm", "flag", "batch norms keep their statistics"},
      {"--layer-factor", "text", "each lower block learns slower by this factor", "1"},
      {"--blocks", "number", "blocks of --layer-factor and of the gradual strategy", "3"},
      {"--lora-rank", "number", "of the low-rank pairs", "8"},
      {"--optimizer", "text",
       "sgd, momentum, nesterov, adam, adamw, rmsprop, adagrad, adadelta or lamb", "adamw"},
      {"--weight-decay", "text", "of weights; biases and norms do not decay", "0.01"},
      {"--decay-all", "flag", "biases and norms decay too"},
      {"--momentum", "text", "of momentum and nesterov", "0.9"},
      {"--clip", "text", "largest norm of all gradients together; 0: none", "0"},
      {"--l2sp", "text", "pull towards the pretrained parameters", "0"},
      {"--ema", "text", "decay of the average of the parameters that is evaluated and saved", "0"},
      {"--schedule", "text", "constant, step, linear, polynomial, cosine, triangular or one-cycle",
       "linear"},
      {"--warmup", "text", "share of the steps in which the rate rises", "0.1"},
      {"--label-smoothing", "text", "share of the target spread over all classes", "0"},
      {"--class-weights", "text", "balanced, or a number a class by commas"},
      {"--mixup", "text", "alpha of mixup, pictures only; 0: none", "0"},
      {"--augment", "text", "flip, crop or both by a comma; pictures only"},
      {"--accumulate", "number", "batches a step", "1"},
      {"--no-shuffle", "flag", "rows in the order of the data"},
      {"--time-budget", "text", "end after so long: 90, 15m, 2h"},
      {"--early-stop", "number", "end after so many epochs without a better metric; 0: never", "0"},
      {"--recompute", "flag", "less memory, more time: activations are computed twice"},
      {"--checkpoint-every", "number", "steps; 0: at the end of each epoch", "0"},
  };
  own.insert(own.end(), more.begin(), more.end());
  return own;
}

void TrainingLines::step(const Step& s) {
  ProgressState p;
  p.epoch = s.epoch + 1;
  p.epochs = epochs_;
  p.step = s.batch;
  p.steps = s.batches;
  p.loss = s.mean_loss;
  if (known_) {
    p.metric = metric_;
    p.value = value_;
  }
  p.samples_per_second = s.rows_per_second;
  p.seconds_left = s.seconds_left;
  terminal_.status(progress_line(p));
}

void TrainingLines::evaluated(int64_t epoch, int64_t, double loss, const Metrics& m, bool best) {
  std::string line = concat("epoch ", epoch + 1, "/", epochs_, " train loss ", loss);
  for (const auto& [name, value] : m.values) {
    if (name == metric_ || name == "loss") line += concat(" validation ", name, " ", value);
    if (name == metric_) {
      value_ = value;
      known_ = true;
    }
  }
  terminal_.note(concat(line, best ? " (best)" : ""));
}

void TrainingLines::note(std::string_view text) { terminal_.note(text); }

}  // namespace hub
