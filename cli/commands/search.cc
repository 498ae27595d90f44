// hub search
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  const auto found = hub.search(args.list("words"));
  std::vector<std::vector<std::string>> rows;
  for (const Listing& l : found) {
    if (context.json_output) {
      context.terminal.print(json_line({{"name", l.name.str()},
                                        {"version", l.version.str()},
                                        {"task", l.task},
                                        {"summary", l.summary},
                                        {"license", l.license},
                                        {"size", l.size},
                                        {"registry", l.registry}}));
    } else {
      rows.push_back({l.name.str(), l.version.str(), l.task, size_text(l.size), l.summary});
    }
  }
  if (!rows.empty()) context.terminal.print(table_text(rows));
  if (found.empty()) context.terminal.complain("nothing found");
  return found.empty() ? 1 : 0;
}

}  // namespace

extern const Command search_command{
    "search",
    "Finds modules in the registries",
    "Shows every module whose name, task or summary holds all the words.",
    {{"words", "list", "nothing shows all"}, {"--json", "flag", "one JSON object a module"}},
    run};

}  // namespace hub
