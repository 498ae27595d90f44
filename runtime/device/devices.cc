// The devices of this build.
#include "base/error.h"
#include "base/text.h"
#include "runtime/device/device.h"
#include "runtime/device/onednn/onednn.h"

namespace hub {
namespace {

struct Entry {
  std::string_view name;
  Device& (*open)();
};

constexpr Entry devices[] = {
    {"cpu", open_onednn},
    {"reference",
     []() -> Device& {
       static Reference reference;
       return reference;
     }},
};

}  // namespace

Device& open_device(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& d : devices) {
    if (d.name == name) return d.open();
    names.emplace_back(d.name);
  }
  fail(Code::usage, "there is no device '", name, "'; wanted ", one_of(names));
}

bool same_layout(const LayoutPtr& a, const LayoutPtr& b) {
  if (a == b) return true;
  return a && b && a->same(*b);
}

size_t layout_bytes(const LayoutPtr& layout, const Spec& spec) {
  return layout ? layout->bytes() : bytes_of(spec);
}

}  // namespace hub
