// hub eval
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/training.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  const auto module = Module::open(hub.need(Request::parse(args.text("module"))), context.terminal,
                                   args.text("--device"));
  DataOptions options = data_options(args);
  options.validation = 0;
  options.test = 0;
  if (options.task.empty()) options.task = data_task(module->manifest());
  const Splits splits = read_data(args.text("--data"), options);
  for (const std::string& note : splits.notes) context.terminal.note(note);
  const std::string split = args.text("--split");
  const Dataset& data = split == "train"                   ? splits.train
                        : split == "validation"            ? splits.validation
                        : split == "test"                  ? splits.test
                        : !splits.test.items.empty()       ? splits.test
                        : !splits.validation.items.empty() ? splits.validation
                                                           : splits.train;
  for (const std::string& warning : data.warnings) context.terminal.note(warning);
  const EvalResult result =
      evaluate_module(*module, data, static_cast<size_t>(args.number("--worst", 0)));
  if (context.json_output) {
    json line = to_json(result.metrics);
    line["module"] = module->manifest().id();
    line["rows"] = data.items.size();
    json worst = json::array();
    for (const WorstCase& w : result.worst)
      worst.push_back(
          {{"source", w.source}, {"wanted", w.wanted}, {"got", w.got}, {"loss", w.loss}});
    if (!worst.empty()) line["worst"] = worst;
    context.terminal.print(json_line(line));
    return 0;
  }
  std::string text = concat(module->manifest().id(), " on ", data.items.size(), " rows\n",
                            to_text(result.metrics));
  for (const WorstCase& w : result.worst)
    text += concat("worst: ", w.source, " wanted ", w.wanted, ", got ", w.got, "\n");
  context.terminal.print(text);
  return 0;
}

}  // namespace

extern const Command eval_command{
    "eval", "Measures a module on data with known answers",
    "Labels are matched by name. Of data with splits of its own the test rows are taken, else the "
    "validation rows, else all.",
    with_data_arguments({{"module", "text", "name or name@version", "", true},
                         {"--data", "text", "file or folder with the rows", "", true},
                         {"--split", "text", "train, validation or test"},
                         {"--worst", "number", "show so many of the rows it gets most wrong", "0"},
                         {"--device", "text", "cpu or reference", "cpu"},
                         {"--json", "flag", "one JSON object"}}),
    run};

}  // namespace hub
