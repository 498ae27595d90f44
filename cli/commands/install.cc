// hub install
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  for (const auto& word : args.list("name")) {
    const Installed module = hub.install(Request::parse(word));
    const Manifest& m = module.manifest;
    if (context.json_output) {
      context.terminal.print(json_line(
          {{"name", m.name.str()}, {"version", m.version.str()}, {"size", m.total_size()}}));
    } else {
      context.terminal.print(concat("installed ", m.id(), " (", size_text(m.total_size()), ")\n"));
    }
  }
  return 0;
}

}  // namespace

extern const Command install_command{
    "install",
    "Installs modules and what they require",
    "NAME is the newest version, NAME@VERSION (or NAME==VERSION) one of them. What is there "
    "already\n"
    "is left alone; a damaged module is mended.",
    {{"name", "words", "modules", "", true}, {"--json", "flag", "one JSON object a module"}},
    run};

}  // namespace hub
