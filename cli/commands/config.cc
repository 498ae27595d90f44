// hub config
#include "api/settings.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace hub {
namespace {

int run(const Args& args, Context& context) {
  const auto& words = args.list("setting");
  json config = read_config();
  if (!words.empty()) {
    const std::string& key = words[0];
    const std::vector<std::string> values(words.begin() + 1, words.end());
    if (key != "registries" && key != "offline") {
      fail(Code::usage, "there is no setting '", key, "'; wanted 'registries' or 'offline'");
    }
    if (args.flag("--unset")) {
      config.erase(key);
    } else if (key == "registries" && !values.empty()) {
      config[key] = values;
    } else if (key == "offline" && values.size() == 1 &&
               (values[0] == "true" || values[0] == "false")) {
      config[key] = values[0] == "true";
    } else {
      fail(Code::usage, key == "offline" ? "offline is 'true' or 'false'"
                                         : "registries wants one or more places");
    }
    make_folders(home_folder());
    write_file(home_folder() + "/config.json", config.dump(2) + "\n");
  }
  const Settings s = context.settings();
  if (context.json_output) {
    context.terminal.print(
        json_line({{"home", s.home}, {"registries", s.registries}, {"offline", s.offline}}));
    return 0;
  }
  context.terminal.print(concat("home        ", s.home, "\n"));
  for (const auto& r : s.registries) context.terminal.print(concat("registries  ", r, "\n"));
  context.terminal.print(concat("offline     ", s.offline ? "true" : "false", "\n"));
  return 0;
}

}  // namespace

extern const Command config_command{
    "config",
    "Shows the settings, or changes one",
    "Settings: 'registries PLACE…' (file:FOLDER, http://… or https://…, asked in this order) and\n"
    "'offline true|false'. HUB_HOME, HUB_REGISTRY (places with blanks between) and HUB_OFFLINE=1\n"
    "in the environment come before what is set here.",
    {{"setting", "list", "name and values; nothing shows all"},
     {"--unset", "flag", "back to the default"},
     {"--json", "flag", "one JSON object"}},
    run};

}  // namespace hub
