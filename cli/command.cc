#include "cli/command.h"

#include <charconv>

#include "api/settings.h"
#include "base/error.h"
#include "base/text.h"

namespace hub {

#define COMMAND(name) extern const Command name##_command;
#include "cli/commands/commands.list"
#undef COMMAND

std::span<const Command* const> commands() {
  static const Command* const all[] = {
#define COMMAND(name) &name##_command,
#include "cli/commands/commands.list"
#undef COMMAND
  };
  return all;
}

Settings Context::settings() const { return environment_settings(); }

const std::vector<std::string>& Args::list(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto it = values.find(name);
  return it == values.end() ? none : it->second;
}

std::string Args::text(std::string_view name) const {
  const auto& v = list(name);
  return v.empty() ? "" : v.back();
}

int Args::number(std::string_view name, int least) const {
  return whole_number(name, text(name), least);
}

std::vector<int> Args::numbers(std::string_view name, int least) const {
  std::vector<int> all;
  for (const auto& text : list(name)) all.push_back(whole_number(name, text, least));
  return all;
}

double real_number(const Args& args, std::string_view name, double fallback) {
  const std::string text = args.text(name);
  if (text.empty()) return fallback;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != 0 || !(value > -1e300 && value < 1e300))
    fail(Code::usage, name, " is '", printable(text), "', wanted a number");
  return value;
}

int whole_number(std::string_view name, std::string_view text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    fail(Code::usage, name, " is '", text, "'; a whole number of at least ", least, " is wanted");
  }
  return value;
}

namespace {

std::string shown(const Argument& a) {
  if (!a.name.starts_with("--")) {
    std::string s(a.name);
    if (a.kind == "list" || a.kind == "words") s += "…";
    return a.required ? s : "[" + s + "]";
  }
  std::string s(a.name);
  if (a.kind == "number") s += " N";
  if (a.kind == "text") s += " X";
  if (a.kind == "list") s += " X…";
  return s;
}

std::string usage_line(const Command& c) {
  std::string s = concat("hub ", c.name);
  bool options = false;
  for (const Argument& a : c.arguments) {
    if (a.name.starts_with("--")) {
      if (a.required) s += " " + shown(a);
      options = options || !a.required;
    } else {
      s += " " + shown(a);
    }
  }
  return options ? s + " [options]" : s;
}

std::string help_of(const Argument& a) {
  std::string s(a.help);
  if (!a.fallback.empty()) s += concat(" (", a.fallback, ")");
  return s;
}

}  // namespace

std::string help_text(const Command& c) {
  std::string s = concat(c.summary, "\n\nUsage: ", usage_line(c), "\n");
  if (!c.details.empty()) s += concat("\n", c.details, "\n");
  if (!c.arguments.empty()) s += "\n";
  for (const Argument& a : c.arguments) {
    std::string left = "  " + shown(a);
    // "…" is three bytes and one column.
    size_t width = left.size() - (left.find("…") != std::string::npos ? 2 : 0);
    for (; width < 24; ++width) left += ' ';
    s += left + " " + help_of(a) + "\n";
  }
  return s;
}

std::string help_overview() {
  std::string s =
      "hub finds, installs, verifies and runs pretrained models.\n\nUsage: hub COMMAND …\n\n";
  for (const Command* c : commands()) {
    std::string left = concat("  ", c->name);
    left.resize(18, ' ');
    s += concat(left, c->summary, "\n");
  }
  return s +
         "\n'hub help COMMAND' tells more. --json gives one JSON object a line on standard "
         "output.\n"
         "Exit status: 0 done, 1 the answer is no, 2 usage, 3 not found, 4 network, 5 integrity,\n"
         "6 refused, 7 storage, 8 busy, 9 auth, 10 unsupported, 11 numeric.\n";
}

std::string help_markdown() {
  std::string s = "# The command line\n\nMade by `hub help --markdown`.\n";
  s += concat("\n```\n", help_overview(), "```\n");
  for (const Command* c : commands()) {
    s += concat("\n## hub ", c->name, "\n\n```\n", help_text(*c), "```\n");
  }
  return s;
}

}  // namespace hub
