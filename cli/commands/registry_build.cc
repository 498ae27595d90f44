// hub registry build
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  const RegistryReport report = build_registry(args.text("recipes"), args.text("--packages"),
                                               args.text("--output"), context.terminal);
  if (context.json_output) {
    context.terminal.print(
        json_line({{"modules", report.modules}, {"files", report.files}, {"bytes", report.bytes}}));
    return 0;
  }
  for (const auto& id : report.modules) context.terminal.print(id + "\n");
  context.terminal.print(concat(report.files, " files, ", size_text(report.bytes), "\n"));
  return 0;
}

}  // namespace

extern const Command registry_build_command{
    "registry build",
    "Makes a registry from recipes and downloaded packages",
    "The registry is a tree of static files: any web server or plain folder serves it.",
    {{"recipes", "text", "folder with one folder a module: recipe.json, manifest.json", "", true},
     {"--packages", "text", "folder with the packages, as 'pip download' left them", "", true},
     {"--output", "text", "folder of the registry", "", true},
     {"--json", "flag", "one JSON object"}},
    run};

}  // namespace hub
