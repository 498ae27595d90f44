// The devices of the fuzz targets: the reference only, whose every access the sanitizers see.
#include "base/error.h"
#include "runtime/device/device.h"

namespace hub {

Device& open_device(std::string_view name) {
  static Reference reference;
  if (name != "reference" && name != "cpu") fail(Code::usage, "there is no device '", name, "'");
  return reference;
}

bool same_layout(const LayoutPtr& a, const LayoutPtr& b) { return a == b; }

size_t layout_bytes(const LayoutPtr&, const Spec& spec) { return bytes_of(spec); }

}  // namespace hub
