// hub lr-find
#include "finetune/search/lr_find.h"

#include "base/error.h"
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
  const Splits splits = read_data(args.text("--data"), data_options(args));
  for (const std::string& note : splits.notes) context.terminal.note(note);
  const StopSignals signals;
  TunerOptions how;
  how.task = splits.task;
  how.device = args.text("--device");
  how.features = settings.home + "/features";
  how.stop = signals.flag();
  TrainingLines lines(context.terminal, 1, "");
  how.listener = &lines;
  const RateTest test = lr_find(base, splits, train_options(args), how);
  if (test.ended == "stopped") return 128 + signals.signal();

  if (context.json_output) {
    json points = json::array();
    for (const RatePoint& p : test.points)
      points.push_back({{"lr", p.rate}, {"loss", p.loss}, {"smoothed", p.smoothed}});
    json line = {{"points", points}, {"ended", test.ended}};
    if (test.tenth > 0) line["tenth_of_minimum"] = test.tenth;
    if (test.steepest > 0) line["steepest"] = test.steepest;
    context.terminal.print(json_line(line));
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"lr", "loss", "smoothed"}};
  for (const RatePoint& p : test.points)
    rows.push_back({short_number(p.rate), short_number(p.loss), short_number(p.smoothed)});
  std::string text = table_text(rows);
  if (test.steepest > 0)
    text += concat("\nthe loss falls fastest at ", short_number(test.steepest), ": try --lr ",
                   short_number(test.steepest),
                   "\na tenth of the rate where it is least: ", short_number(test.tenth), "\n");
  if (test.steepest == 0) text += "\nthe loss does not fall: there is no rate to suggest\n";
  context.terminal.print(text);
  return 0;
}

}  // namespace

extern const Command lr_find_command{
    "lr-find", "Looks for a learning rate: trains a little with one that rises from 1e-7 to 10",
    "Over at most 100 steps and one epoch, until the loss is four times its least. Nothing is "
    "saved.\n"
    "--lr, --epochs, --schedule, --warmup and the options about ending have no effect here.",
    with_train_arguments(
        with_data_arguments({{"module", "text", "name or name@version", "", true},
                             {"--data", "text", "file or folder with the rows", "", true},
                             {"--device", "text", "cpu or reference", "cpu"},
                             {"--json", "flag", "one JSON object"}})),
    run};

}  // namespace hub
