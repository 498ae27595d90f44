// To be preloaded: locks on open files always succeed and lock nothing, as on some network file
// systems.
#include <dlfcn.h>
#include <fcntl.h>

#include <cstdarg>

namespace {

template <int n>
int forward(const char* name, int fd, int command, void* argument) {
  static const auto real = reinterpret_cast<int (*)(int, int, ...)>(::dlsym(RTLD_NEXT, name));
  return command == F_OFD_SETLK ? 0 : real(fd, command, argument);
}

}  // namespace

extern "C" int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return forward<0>("fcntl", fd, command, argument);
}

extern "C" int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return forward<1>("fcntl64", fd, command, argument);
}
