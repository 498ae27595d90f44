#include "api/hub.h"

#include <ostream>

#include "api/settings.h"
#include "base/text.h"

namespace hub {

Loaded load(const std::string& name) {
  static Silent silent;
  const Settings settings = environment_settings();
  const auto hub = std::make_shared<Hub>(settings, silent);
  return {hub->need(Request::parse(name)), hub, settings.home + "/finetune"};
}

Splits read_table(const std::string& path, const Columns& columns) {
  DataOptions options;
  options.task = columns.task;
  options.table = {columns.text, columns.pair, columns.group, {}, {}};
  if (!columns.label.empty()) {
    for (std::string_view label : split(columns.label, ','))
      options.table.labels.emplace_back(label);
  }
  options.validation = 0;
  return read_data(path, options);
}

std::ostream& operator<<(std::ostream& out, const Metrics& metrics) {
  return out << to_text(metrics);
}

}  // namespace hub
