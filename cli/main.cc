// The door: arguments in, exit status out. The only place that knows CLI11, and one of two that
// catch errors.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace {

using namespace hub;

/// One subcommand of the parser for each entry of the table.
struct Parsed {
  const Command* command = nullptr;
  CLI::App* app = nullptr;
  Args args;
  std::map<std::string, bool> flags;
};

CLI::App* find(CLI::App& root, const std::string& name) {
  for (CLI::App* app : root.get_subcommands({})) {
    if (app->get_name() == name) return app;
  }
  return nullptr;
}

void declare(CLI::App& root, Parsed& parsed) {
  CLI::App* parent = &root;
  std::string name(parsed.command->name);
  if (const size_t space = name.find(' '); space != std::string::npos) {
    const std::string group = name.substr(0, space);
    name = name.substr(space + 1);
    parent = find(root, group);
    if (parent == nullptr) parent = root.add_subcommand(group)->require_subcommand(1);
  }
  parsed.app = parent->add_subcommand(name);
  parsed.app->set_help_flag("-h,--help");
  for (const Argument& a : parsed.command->arguments) {
    const std::string key(a.name);
    CLI::Option* option = nullptr;
    if (a.kind == "flag") {
      option = parsed.app->add_flag(key, parsed.flags[key]);
    } else {
      option = parsed.app->add_option(key, parsed.args.values[key]);
      const bool many = a.kind == "list" || a.kind == "words";
      if (many) {
        option->expected(a.required ? 1 : 0, 1 << 20)->take_all();
      } else {
        option->expected(1)->allow_extra_args(false);
      }
    }
    if (a.required) option->required();
  }
}

/// Words go to the command's positional list.
void add_plain(Parsed& parsed, const std::vector<std::string>& words) {
  if (words.empty()) return;
  for (const Argument& a : parsed.command->arguments) {
    if (a.name.starts_with("--") || (a.kind != "list" && a.kind != "words")) continue;
    auto& values = parsed.args.values[std::string(a.name)];
    values.insert(values.end(), words.begin(), words.end());
    return;
  }
  fail(Code::usage, "'", printable(words[0]), "' behind -- is not expected");
}

void fill(Parsed& parsed) {
  for (const Argument& a : parsed.command->arguments) {
    auto& values = parsed.args.values[std::string(a.name)];
    if (a.kind == "flag" && parsed.flags[std::string(a.name)]) values = {"1"};
    if (values.empty() && !a.fallback.empty() && a.kind != "flag")
      values = {std::string(a.fallback)};
  }
}

int report(Terminal& terminal, bool as_json, Code code, const std::string& message) {
  if (as_json) {
    const json object = {{"error", {{"code", code_name(code)}, {"message", message}}}};
    terminal.print(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  terminal.complain(message);
  return static_cast<int>(code);
}

std::string unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command* c : commands()) names.emplace_back(c->name.substr(0, c->name.find(' ')));
  std::string text = concat("there is no command '", printable(word), "'");
  if (const auto close = nearest(word, names); !close.empty())
    text += "; did you mean " + one_of(close) + "?";
  return text + " 'hub help' lists them";
}

int run(int argc, char** argv, Terminal& terminal, bool& as_json) {
  if (argc < 2 || std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h") {
    terminal.print(help_overview());
    return argc < 2 ? static_cast<int>(Code::usage) : 0;
  }
  CLI::App root;
  root.set_help_flag();
  root.require_subcommand(1);
  std::vector<Parsed> table(commands().size());
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].command = commands()[i];
    declare(root, table[i]);
  }
  const std::string word(std::string_view(argv[1]) == "--version" ? "version" : argv[1]);
  if (find(root, word) == nullptr) {
    return report(terminal, as_json, Code::usage, unknown_command(word));
  }
  std::vector<std::string> words(argv + 1, argv + argc);
  words[0] = word;
  // What stands behind "--" is never an option, whatever it begins with.
  const auto mark = std::find(words.begin(), words.end(), "--");
  const std::vector<std::string> plain(mark == words.end() ? mark : mark + 1, words.end());
  words.erase(mark, words.end());
  std::reverse(words.begin(), words.end());
  try {
    root.parse(words);
  } catch (const CLI::CallForHelp&) {
    for (const Parsed& p : table) {
      if (p.app->parsed()) terminal.print(help_text(*p.command));
    }
    return 0;
  } catch (const CLI::ParseError& e) {
    return report(terminal, as_json, Code::usage, concat(e.what(), "; see 'hub help ", word, "'"));
  }
  for (Parsed& p : table) {
    if (!p.app->parsed()) continue;
    add_plain(p, plain);
    fill(p);
    Context context{terminal, HUB_VERSION, p.args.flag("--json")};
    return p.command->run(p.args, context);
  }
  return static_cast<int>(Code::usage);
}

}  // namespace

int main(int argc, char** argv) {
  Terminal terminal;
  bool as_json = false;
  for (int i = 1; i < argc; ++i) as_json = as_json || std::string_view(argv[i]) == "--json";
  try {
    const int status = run(argc, argv, terminal, as_json);
    if (std::fflush(stdout) != 0) fail(Code::storage, "cannot write to standard output");
    return status;
  } catch (const Error& e) {
    return report(terminal, as_json, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return report(terminal, as_json, Code::refused, "out of memory");
  } catch (const std::exception& e) {
    return report(terminal, as_json, Code::refused, concat("unexpected: ", e.what()));
  }
}
