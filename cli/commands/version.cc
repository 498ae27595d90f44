// hub version
#include "base/error.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args&, Context& context) {
  context.terminal.print(concat("hub ", context.program_version, "\n"));
  return 0;
}

}  // namespace

extern const Command version_command{"version", "Prints the version of this program", "", {}, run};

}  // namespace hub
