// Installs or removes one module and says how it went, for tests that need a process of its own:
// install_driver install|uninstall HOME REGISTRY NAME
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "hub/hub.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    hub::Silent silent;
    hub::Hub hub(
        {.home = argv[2], .registries = {argv[3]}, .retries = 2, .program_version = "0.1.0"},
        silent);
    const auto request = hub::Request::parse(argv[4]);
    if (std::strcmp(argv[1], "uninstall") == 0) {
      hub.uninstall(request);
    } else if (hub.install(request).broken) {
      std::fputs("installed, and broken\n", stderr);
      return 1;
    }
    return 0;
  } catch (const hub::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  }
}
