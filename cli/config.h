// The config file, config.json in the home folder: {"registries": […], "offline": bool}.
#pragma once

#include <string>

#include "hub/manifest.h"

namespace hub {

/// HUB_HOME, else hub/ in XDG_DATA_HOME, else ~/.local/share/hub.
std::string home_folder();
/// Checked; an empty object when there is no file.
json read_config();

}  // namespace hub
