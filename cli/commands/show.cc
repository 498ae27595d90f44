// hub show
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

/// "loss 0.4137, accuracy 0.83" for an object, text as it is.
std::string value_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value.get<double>());
    return text;
  }
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [key, part] : value.items())
    text += concat(text.empty() ? "" : ", ", key, " ", value_text(part));
  return text;
}

/// The bases of a fine-tuned module, the nearest first, as far back as they are known here.
std::string lineage(Hub& hub, const Manifest& module) {
  constexpr int most = 16;
  const std::vector<Installed> all = hub.list();
  std::string text;
  json origin = module.origin;
  for (int k = 0; k < most && origin.contains("base"); ++k) {
    const std::string base = value_text(origin["base"]);
    text += concat(text.empty() ? "" : " ← ", base);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Installed& i) { return i.manifest.id() == base; });
    origin = found == all.end() ? json::object() : found->manifest.origin;
  }
  return text;
}

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
    rows.push_back({"origin " + key, key == "base" ? lineage(hub, m) : value_text(value)});
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
