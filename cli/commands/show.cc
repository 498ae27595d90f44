// hub show
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  Hub hub(context.settings(), context.terminal);
  const Request request = Request::parse(args.text("name"));
  const Manifest m = hub.show(request);
  if (context.json_output) {
    context.terminal.print(json_line(json::parse(m.text)));
    return 0;
  }
  std::string versions;
  for (const Version& v : hub.versions(m.name))
    versions += (versions.empty() ? "" : ", ") + v.str();
  std::vector<std::vector<std::string>> rows = {{"name", m.name.str()},
                                                {"version", m.version.str()},
                                                {"versions", versions},
                                                {"task", m.task},
                                                {"summary", m.summary},
                                                {"license", m.license},
                                                {"size", size_text(m.total_size())}};
  for (const auto& [key, value] : m.origin.items()) {
    rows.push_back({"origin " + key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  for (const auto& [name, n] : m.networks) {
    rows.push_back({"network " + name, concat(n.format, " ", n.file.str())});
  }
  rows.push_back({"installed", hub.find(request) ? "yes" : "no"});
  context.terminal.print(table_text(rows));
  return 0;
}

}  // namespace

extern const Command show_command{"show",
                                  "Tells what a module is",
                                  "",
                                  {{"name", "text", "a module, with or without @VERSION", "", true},
                                   {"--json", "flag", "the manifest as one JSON object"}},
                                  run};

}  // namespace hub
