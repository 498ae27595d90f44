// hub finetune
#include <optional>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/training.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  const Settings settings = context.settings();
  Hub hub(settings, context.terminal);
  const Installed base = hub.need(Request::parse(args.text("module")));
  const Request name = Request::parse(
      args.text("--save").empty() ? base.manifest.name.str() + "-tuned" : args.text("--save"));
  const std::string id = concat(name.name.str(), "-", name.version ? name.version->str() : "1.0.0");

  const Splits splits = read_data(args.text("--data"), data_options(args));
  context.terminal.note(splits.found);
  for (const std::string& note : splits.notes) context.terminal.note(note);
  for (const std::string& warning : splits.train.warnings) context.terminal.note(warning);

  const StopSignals signals;
  const TrainOptions options = train_options(args);
  TunerOptions how;
  how.task = splits.task;
  how.name = name.str();
  how.crf = args.flag("--crf");
  how.device = args.text("--device");
  how.work =
      args.text("--work").empty() ? concat(settings.home, "/finetune/", id) : args.text("--work");
  how.features = settings.home + "/features";
  how.resume = args.flag("--resume");
  how.stop = signals.flag();
  TrainingLines lines(context.terminal, options.epochs, tuned_metric(base.manifest, splits));
  how.listener = &lines;
  Tuner tuner(base, how);
  const TrainResult& result = tuner.fit(splits, options);
  if (result.ended == "stopped") {
    context.terminal.note(concat("stopped after step ", result.position.step,
                                 "; the same command with --resume goes on from there"));
    return 128 + signals.signal();
  }
  const Installed saved = tuner.save(hub);
  json line = {{"module", saved.manifest.id()},
               {"base", base.manifest.id()},
               {"ended", result.ended},
               {"epochs", result.position.epoch},
               {"steps", result.position.step},
               {"seconds", result.position.seconds},
               {"train_loss", result.train_loss},
               {"work", how.work},
               {"validation", to_json(result.metrics)}};
  std::optional<Metrics> test;
  if (!splits.test.items.empty()) {
    test = tuner.evaluate(splits.test);
    line["test"] = to_json(*test);
  }
  if (context.json_output) {
    context.terminal.print(json_line(line));
    return 0;
  }
  std::string text = to_text(result.metrics);
  if (test) text += concat("\ntest set, ", splits.test.items.size(), " rows\n", to_text(*test));
  text += concat("\nsaved ", saved.manifest.id(), "; report: ", how.work, "/report.html\n",
                 "try it: hub run ", saved.manifest.name.str(), " …\n");
  context.terminal.print(text);
  return 0;
}

}  // namespace

extern const Command finetune_command{
    "finetune", "Trains a module on your data and saves the result as a module of its own",
    "Data: a folder of classes, list files, CSV, TSV, JSONL, CoNLL or IDX; 'hub data check' says "
    "what it would be taken for. SIGTERM saves a checkpoint and exits with 143; --resume goes on "
    "from there, to the same numbers as a run that was never stopped.",
    with_train_arguments(with_data_arguments(
        {{"module", "text", "the base: name or name@version", "", true},
         {"--data", "text", "file or folder with the rows", "", true},
         {"--save", "text", "name or name@version of the new module; else NAME-tuned"},
         {"--work", "text", "folder for checkpoints, run.jsonl, events and report.html"},
         {"--crf", "flag", "sequence labelling: choose the tags of a text together"},
         {"--resume", "flag", "go on from the newest checkpoint in the work folder"},
         {"--device", "text", "cpu or reference", "cpu"},
         {"--json", "flag", "one JSON object"}})),
    run};

}  // namespace hub
