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

std::vector<Tensor> Task::encode(std::span<const Sample>) {
  fail(Code::unsupported, "this task does not train");
}

std::vector<json> Task::decode(std::span<const Sample>, std::span<const Tensor>,
                               const RunOptions&) {
  fail(Code::unsupported, "this task does not train");
}

std::pair<int64_t, int64_t> Task::locate(const Sample&, int64_t, int64_t) {
  fail(Code::unsupported, "this task finds no parts of a text");
}

Image Task::draw(const Sample& sample, const json&) const {
  fail(Code::unsupported, "'", sample.name,
       "': this task has no picture output; run it without one");
}

}  // namespace hub
