// Commands as data: name, arguments and help stand in one definition, from which the parser, `hub
// help` and docs/cli.md are made. One file a command under commands/, one line in commands.list.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/hub.h"

namespace hub {

/// "name" is a positional argument, "--name" an option. Kinds: "flag" (no value), "text", "number",
/// "list" (any number of values), "words" (as list, at least one).
struct Argument {
  std::string_view name;
  std::string_view kind;
  std::string_view help;
  std::string_view fallback = "";  ///< shown in the help; given when the argument is not there
  bool required = false;
};

/// What was given, by the names of the table.
class Args {
 public:
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  bool flag(std::string_view name) const { return !list(name).empty(); }
  const std::vector<std::string>& list(std::string_view name) const;
  /// The value, the fallback of the table, or "".
  std::string text(std::string_view name) const;
  /// Throws Code::usage unless it is a whole number of at least `least`.
  int number(std::string_view name, int least) const;
  /// The same of each value.
  std::vector<int> numbers(std::string_view name, int least) const;
};

/// The number of that argument, or the fallback where it is left out; throws Code::usage unless it
/// is one.
double real_number(const Args& args, std::string_view name, double fallback);
/// Throws Code::usage, naming `name`, unless `text` is a whole number of at least `least`.
int whole_number(std::string_view name, std::string_view text, int least);

class Terminal;

/// What a command works with. Making it touches no disk.
struct Context {
  Terminal& terminal;
  std::string program_version;
  bool json_output = false;

  /// Environment over config file over defaults.
  Settings settings() const;
};

struct Command {
  std::string_view name;     ///< "run", "registry build"
  std::string_view summary;  ///< one line
  std::string_view details;  ///< further lines of its help; may be empty
  std::vector<Argument> arguments;
  int (*run)(const Args&, Context&);  ///< the exit status
};

std::span<const Command* const> commands();

/// The help of one command, of all, and docs/cli.md.
std::string help_text(const Command& command);
std::string help_overview();
std::string help_markdown();

}  // namespace hub
