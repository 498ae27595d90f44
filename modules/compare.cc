// Whether an output is the one that an example promises.
#include <cmath>

#include "base/error.h"
#include "modules/module.h"

namespace hub {
namespace {

std::string difference(const json& wanted, const json& got, double tolerance,
                       const std::string& path);

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 120) text = text.substr(0, 120) + "...";
  return text;
}

std::string differ(const json& wanted, const json& got, const std::string& path) {
  return concat(path.empty() ? "the output" : path, ": wanted ", shown(wanted), ", got ",
                shown(got));
}

std::string difference_of_arrays(const json& wanted, const json& got, double tolerance,
                                 const std::string& path) {
  if (wanted.size() != got.size()) {
    return concat(path.empty() ? "the output" : path, ": wanted ", wanted.size(), " items, got ",
                  got.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::string text = difference(wanted[i], got[i], tolerance, concat(path, "[", i, "]"));
    if (!text.empty()) return text;
  }
  return {};
}

std::string difference_of_objects(const json& wanted, const json& got, double tolerance,
                                  const std::string& path) {
  for (const auto& item : wanted.items()) {
    const std::string below = path.empty() ? item.key() : concat(path, ".", item.key());
    const auto it = got.find(item.key());
    if (it == got.end()) return concat(below, ": wanted ", shown(item.value()), ", got nothing");
    std::string text = difference(item.value(), *it, tolerance, below);
    if (!text.empty()) return text;
  }
  return {};
}

std::string difference(const json& wanted, const json& got, double tolerance,
                       const std::string& path) {
  if (wanted.is_number() && got.is_number()) {
    const bool near = std::abs(wanted.get<double>() - got.get<double>()) <= tolerance;
    return near ? std::string() : differ(wanted, got, path);
  }
  if (wanted.is_array() && got.is_array())
    return difference_of_arrays(wanted, got, tolerance, path);
  if (wanted.is_object() && got.is_object())
    return difference_of_objects(wanted, got, tolerance, path);
  return wanted == got ? std::string() : differ(wanted, got, path);
}

}  // namespace

std::string compare_output(const json& wanted, const json& got, double tolerance) {
  return difference(wanted, got, tolerance, "");
}

}  // namespace hub
