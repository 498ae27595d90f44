// hub help
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  if (args.flag("--markdown")) {
    context.terminal.print(help_markdown());
    return 0;
  }
  std::string name;
  for (const auto& word : args.list("command")) name += (name.empty() ? "" : " ") + word;
  if (name.empty()) {
    context.terminal.print(help_overview());
    return 0;
  }
  std::vector<std::string> names;
  for (const Command* c : commands()) {
    if (c->name == name || c->name.starts_with(name + " ")) {
      context.terminal.print(help_text(*c));
      return 0;
    }
    names.emplace_back(c->name);
  }
  const auto close = nearest(name, names);
  fail(Code::usage, "there is no command '", printable(name), "'",
       close.empty() ? std::string() : "; did you mean " + one_of(close) + "?");
}

}  // namespace

extern const Command help_command{
    "help",
    "Explains the program or one command",
    "",
    {{"command", "list", "the command, say 'run' or 'registry build'"},
     {"--markdown", "flag", "everything, as docs/cli.md"}},
    run};

}  // namespace hub
