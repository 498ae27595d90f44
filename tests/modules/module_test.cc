#include "modules/module.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "tests/modules/default_module.h"

namespace hub {

TEST_CASE("threads that ask for a module's task at once get the same one") {
  Silent silent;
  const auto module = default_module("minilm-l6", silent);
  std::atomic<int> waiting = 4;
  std::vector<const Task*> tasks(4);
  std::vector<const std::vector<std::string>*> names(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < tasks.size(); ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      tasks[i] = &module->task();
      names[i] = &module->input_names("main");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set(tasks.begin(), tasks.end()).size() == 1);
  CHECK(std::set(names.begin(), names.end()).size() == 1);
}

}  // namespace hub
