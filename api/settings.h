// Where the cache is and which registries there are: the environment over the config file,
// config.json in the home folder ({"registries": […], "offline": bool}), over defaults.
#pragma once

#include <string>

#include "hub/hub.h"

namespace hub {

/// HUB_HOME, else hub/ in XDG_DATA_HOME, else ~/.local/share/hub.
std::string home_folder();
/// Checked; an empty object when there is no file.
json read_config();
/// All of it together, with the version of this library.
Settings environment_settings();

}  // namespace hub
