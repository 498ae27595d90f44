// hub uninstall
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  for (const auto& word : args.list("name")) {
    for (const auto& id : hub.uninstall(Request::parse(word))) {
      context.terminal.print(context.json_output ? json_line({{"uninstalled", id}})
                                                 : concat("uninstalled ", id, "\n"));
    }
  }
  return 0;
}

}  // namespace

extern const Command uninstall_command{
    "uninstall",
    "Removes modules from the cache",
    "Without a version all installed versions go. Files that other modules share stay.",
    {{"name", "words", "modules", "", true}, {"--json", "flag", "one JSON object a module"}},
    run};

}  // namespace hub
