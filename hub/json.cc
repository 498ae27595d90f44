// Strict JSON for anything that comes from outside.
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hub/manifest.h"

namespace hub {
namespace {

/// Watches the events of the parser, which come before the values are built.
class Guard {
 public:
  explicit Guard(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= max_depth_) {
        fail(Code::refused, "JSON is nested deeper than ", max_depth_, " levels");
      }
      keys_.resize(static_cast<size_t>(depth) + 1);
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        fail(Code::refused, "JSON has the key '", printable(key.substr(0, 80)), "' twice");
      }
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.resize(static_cast<size_t>(depth));
    }
    return true;
  }

 private:
  int max_depth_;
  std::vector<std::set<std::string>> keys_;  ///< of the open objects, outermost first
};

}  // namespace

json parse_json(std::string_view text, size_t max_bytes, int max_depth) {
  if (text.size() > max_bytes) {
    fail(Code::refused, "JSON of ", text.size(), " bytes; at most ", max_bytes, " are read");
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    fail(Code::refused, "JSON starts with a byte order mark; save it as UTF-8 without one");
  }
  // The parser takes a zero byte for the end of the text.
  if (text.find('\0') != text.npos) fail(Code::refused, "not valid JSON: it holds a zero byte");
  try {
    auto guard = std::make_shared<Guard>(max_depth);
    return json::parse(text.begin(), text.end(), [guard](int depth, auto event, json& value) {
      return (*guard)(depth, event, value);
    });
  } catch (const json::exception& e) {
    std::string_view what = e.what();
    const size_t id_end = what.find("] ");
    if (id_end != what.npos) what.remove_prefix(id_end + 2);
    fail(Code::refused, "not valid JSON: ", printable(what.substr(0, 300)));
  }
}

}  // namespace hub
