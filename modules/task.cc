// The list of tasks, and what a task does when it has no opinion.
#include "modules/task.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modules/module.h"

namespace hub {

#define TASK(name, make) std::unique_ptr<Task> make(Module& module);
#include "modules/tasks/tasks.list"
#undef TASK

namespace {

struct Entry {
  std::string_view name;
  TaskFactory make;
};

constexpr Entry entries[] = {
#define TASK(name, make) {name, make},
#include "modules/tasks/tasks.list"
#undef TASK
};

}  // namespace

TaskFactory find_task(std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.make;
  }
  return nullptr;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

Image Task::draw(const Sample& sample, const json&) const {
  fail(Code::unsupported, "'", sample.name,
       "': this task has no picture output; run it without one");
}

}  // namespace hub
