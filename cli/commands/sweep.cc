// hub sweep
#include "finetune/search/sweep.h"

#include <algorithm>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/training.h"

namespace hub {
namespace {

/// The command line with a trial's values in place of its own.
Args with_values(Args args, const Pairs& values) {
  for (const auto& [name, value] : values) args.values[concat("--", name)] = {value};
  return args;
}

void check_names(const Space& space) {
  std::vector<std::string> known;
  for (const Argument& a : with_train_arguments({})) {
    if (a.kind != "flag" && a.name != "--time-budget" && a.name != "--checkpoint-every")
      known.emplace_back(a.name.substr(2));
  }
  for (const std::string& name : space.names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    fail(Code::usage, "--tune: '", printable(name), "' is no setting of training; wanted ",
         one_of(known));
  }
}

std::string table(const Space& space, const SweepResult& result, const std::string& metric) {
  std::vector<std::vector<std::string>> rows = {{"trial"}};
  for (const std::string& name : space.names()) rows[0].push_back(name);
  for (const std::string& name : {metric, std::string("seconds"), std::string("ended")})
    rows[0].push_back(name);
  for (const Trial& t : result.trials) {
    std::vector<std::string> row = {std::to_string(t.number)};
    for (const auto& [name, value] : t.values) row.push_back(value);
    row.push_back(t.error.empty() ? short_number(t.metric) : "-");
    row.push_back(short_number(t.seconds));
    row.push_back(t.error.empty() ? t.ended : concat(t.ended, ": ", t.error));
    rows.push_back(row);
  }
  return table_text(rows);
}

/// One training run of the sweep, by its settings.
class Runner {
 public:
  Runner(const Args& args, Context& context, const Installed& base, const Splits& splits,
         std::string metric, const StopSignals& signals)
      : args_(args), context_(context), base_(base), splits_(splits), metric_(std::move(metric)) {
    how_.task = splits.task;
    how_.device = args.text("--device");
    how_.features = context.settings().home + "/features";
    how_.stop = signals.flag();
    if (!args.text("--save").empty()) how_.name = args.text("--save");
  }

  void run(Trial& trial, const std::string& work, double seconds) {
    const auto tuner = fit(trial.values, work, seconds, trial.ended);
    if (trial.ended == "stopped") throw Stopped{};
    trial.metric = result_.metrics.at(metric_);
  }

  /// The trial's module: its run has ended, so nothing is trained again.
  Installed save(Hub& hub, const Trial& trial, const std::string& work) {
    std::string ended;
    return fit(trial.values, work, 0, ended)->save(hub);
  }

 private:
  std::unique_ptr<Tuner> fit(const Pairs& values, const std::string& work, double seconds,
                             std::string& ended) {
    TrainOptions options = train_options(with_values(args_, values));
    options.time_budget = seconds;
    TrainingLines lines(context_.terminal, options.epochs, metric_);
    TunerOptions how = how_;
    how.work = work;
    how.resume = is_folder(work);
    how.listener = &lines;
    auto tuner = std::make_unique<Tuner>(base_, how);
    result_ = tuner->fit(splits_, options);
    ended = result_.ended;
    return tuner;
  }

  const Args& args_;
  Context& context_;
  const Installed& base_;
  const Splits& splits_;
  std::string metric_;
  TunerOptions how_;
  TrainResult result_;
};

int run(const Args& args, Context& context) {
  const Settings settings = context.settings();
  const Space space(args.text("--tune"));
  check_names(space);
  Hub hub(settings, context.terminal);
  const Installed base = hub.need(Request::parse(args.text("module")));
  const std::string save = args.text("--save");
  if (!save.empty()) Request::parse(save);
  const Splits splits = read_data(args.text("--data"), data_options(args));
  context.terminal.note(splits.found);
  for (const std::string& note : splits.notes) context.terminal.note(note);
  if (splits.validation.items.empty())
    fail(Code::usage,
         "there are no validation rows to compare trials by; --validation takes a share");

  SweepOptions how;
  const std::string metric = tuned_metric(base.manifest, splits, &how.lower);
  const StopSignals signals;
  how.method = args.text("--method");
  how.trials = args.number("--trials", 1);
  how.time_budget = seconds_of("--time-budget", args.text("--time-budget"));
  how.seed = static_cast<uint64_t>(args.number("--seed", 0));
  how.folder = args.text("--work").empty()
                   ? concat(settings.home, "/sweeps/", base.manifest.name.str())
                   : args.text("--work");
  how.resume = args.flag("--resume");
  how.stop = signals.flag();
  json fixed = json::object();
  for (const auto& [name, value] : train_options(args).pairs())
    if (name != "time budget") fixed[name] = value;
  how.identity = {{"base", Sha256::of(base.manifest.text).hex()},
                  {"data", splits.train.digest},
                  {"tune", args.text("--tune")},
                  {"options", fixed}};

  Runner runner(args, context, base, splits, metric, signals);
  const SweepResult result = sweep(
      space, how,
      [&](Trial& trial, const std::string& work, double seconds) {
        runner.run(trial, work, seconds);
      },
      [&](const Trial& t, bool best) {
        std::string line = concat("trial ", t.number, "/", how.trials, ":");
        for (const auto& [name, value] : t.values) line += concat(" ", name, " ", value);
        line += t.error.empty() ? concat(": ", metric, " ", short_number(t.metric))
                                : concat(": failed: ", t.error);
        context.terminal.note(concat(line, best ? " (best)" : ""));
      });
  std::string saved;
  if (result.ended == "stopped") {
    context.terminal.note("stopped; the same command with --resume goes on from there");
  } else if (result.best >= 0 && !save.empty()) {
    const Trial& best = result.trials[static_cast<size_t>(result.best)];
    saved = runner.save(hub, best, trial_folder(how.folder, best.number)).manifest.id();
  }

  if (context.json_output) {
    json line = {{"metric", metric}, {"ended", result.ended}, {"work", how.folder}};
    line["trials"] = json::array();
    for (const Trial& t : result.trials) line["trials"].push_back(to_json(t));
    if (result.best >= 0) line["best"] = result.trials[static_cast<size_t>(result.best)].number;
    if (!saved.empty()) line["module"] = saved;
    context.terminal.print(json_line(line));
  } else {
    std::string text = table(space, result, metric);
    if (result.best >= 0)
      text +=
          concat("\nbest: trial ", result.trials[static_cast<size_t>(result.best)].number, "\n");
    if (!saved.empty()) text += concat("saved ", saved, "\n");
    context.terminal.print(text);
  }
  if (result.ended == "stopped") return 128 + signals.signal();
  return result.best >= 0 || result.trials.empty() ? 0 : 1;
}

}  // namespace

extern const Command sweep_command{
    "sweep", "Looks for good settings: trains with many, compares them on the validation rows",
    "--tune lr=1e-5:1e-3:log,label-smoothing=0:0.2,batch=8|16|32 names options of training and "
    "what\n"
    "they may be. Every trial is a line of trials.jsonl in the work folder, failed ones too; "
    "--resume\n"
    "goes on from there. --time-budget is for all trials together. Exit status 1: every trial "
    "failed.",
    with_train_arguments(with_data_arguments(
        {{"module", "text", "the base: name or name@version", "", true},
         {"--data", "text", "file or folder with the rows", "", true},
         {"--tune", "text", "what is varied: NAME=LOW:HIGH[:log] or NAME=A|B|C, by commas", "",
          true},
         {"--method", "text", "random, cma-es (PaddleHub's HAZero) or population (PSHE2)",
          "random"},
         {"--trials", "number", "how many", "20"},
         {"--save", "text", "name or name@version for the best trial's module"},
         {"--work", "text", "folder for trials.jsonl and the trials' own folders"},
         {"--resume", "flag", "go on with the sweep in the work folder"},
         {"--device", "text", "cpu or reference", "cpu"},
         {"--json", "flag", "one JSON object"}})),
    run};

}  // namespace hub
