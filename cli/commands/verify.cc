// hub verify
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "modules/module.h"

namespace hub {
namespace {

/// Runs the examples of a module; the first difference of each, in words.
std::vector<std::string> run_examples(const Installed& installed, Context& context) {
  std::vector<std::string> problems;
  const auto module = Module::open(installed, context.terminal);
  const auto& examples = module->manifest().examples;
  for (size_t i = 0; i < examples.size(); ++i) {
    const Sample sample = example_sample(*module, examples[i].input);
    const json got = module->task().predict({&sample, 1}, {}).at(0);
    const auto difference = compare_output(examples[i].output, got, examples[i].tolerance);
    if (!difference.empty()) problems.push_back(concat("example ", i + 1, ": ", difference));
  }
  return problems;
}

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  std::optional<Request> request;
  if (const auto name = args.text("name"); !name.empty()) request = Request::parse(name);
  bool damaged = false;
  bool wrong = false;
  int refused = 0;
  for (VerifyReport& report : hub.verify(request)) {
    damaged = damaged || !report.problems.empty();
    size_t examples = 0;
    if (args.flag("--run") && report.problems.empty()) {
      const auto installed = hub.find(Request::parse(report.module));
      if (!installed) fail(Code::not_found, report.module, " was removed meanwhile");
      examples = installed->manifest.examples.size();
      try {
        report.problems = run_examples(*installed, context);
        wrong = wrong || !report.problems.empty();
      } catch (const Error& e) {  // the others are verified all the same
        report.problems = {concat("its examples do not run: ", e.what())};
        refused = static_cast<int>(e.code());
      }
    }
    if (context.json_output) {
      context.terminal.print(json_line({{"module", report.module},
                                        {"ok", report.problems.empty()},
                                        {"examples", examples},
                                        {"problems", report.problems}}));
      continue;
    }
    if (report.problems.empty()) {
      context.terminal.print(
          concat(report.module, ": ok",
                 args.flag("--run") ? concat(", ", examples, " examples right") : "", "\n"));
    }
    for (const auto& p : report.problems)
      context.terminal.print(concat(report.module, ": ", p, "\n"));
  }
  return damaged ? static_cast<int>(Code::integrity) : wrong ? 1 : refused;
}

}  // namespace

extern const Command verify_command{
    "verify",
    "Checks installed files against their digests, and examples against their right answers",
    "Damaged files leave the cache; 'hub install NAME' fetches them again. Exit status 5: "
    "damaged,\n"
    "1: an example gives another answer; else why one does not run.",
    {{"name", "text", "a module; nothing means all"},
     {"--run", "flag", "runs the module's examples as well"},
     {"--json", "flag", "one JSON object a module"}},
    run};

}  // namespace hub
