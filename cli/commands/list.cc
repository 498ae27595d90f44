// hub list
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args&, Context& context) {
  Hub hub(context.settings(), context.terminal);
  std::vector<std::vector<std::string>> rows;
  for (const Installed& i : hub.list()) {
    const Manifest& m = i.manifest;
    if (context.json_output) {
      context.terminal.print(json_line({{"name", m.name.str()},
                                        {"version", m.version.str()},
                                        {"task", m.task},
                                        {"size", m.total_size()},
                                        {"installed_at", i.installed_at},
                                        {"last_used", i.last_used},
                                        {"broken", i.broken}}));
    } else {
      rows.push_back({m.name.str(), m.version.str(), m.task, size_text(m.total_size()),
                      i.broken ? "broken: run 'hub install " + m.name.str() + "'" : m.summary});
    }
  }
  if (!rows.empty()) context.terminal.print(table_text(rows));
  return 0;
}

}  // namespace

extern const Command list_command{"list",
                                  "Shows the installed modules",
                                  "",
                                  {{"--json", "flag", "one JSON object a module"}},
                                  run};

}  // namespace hub
