#include "runtime/team.h"

#include <omp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace hub {

void calm_team() {
  // libgomp lets a thread that waits spin some 300,000 rounds, which takes the processor from the
  // very thread it waits for when the machine is shared: on a loaded machine a run takes thirty
  // times as long. It spins 1,000 rounds when it manages more threads than there are processors.
  // The only other switches are variables that it reads before main. So a second, idle team is
  // kept.
  static std::once_flag once;
  std::call_once(once, [] {
    if (omp_get_max_threads() < 2) return;
    std::thread([] {
#pragma omp parallel num_threads(2)
      {}
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable never;
      for (;;) never.wait(lock);
    }).detach();
  });
}

}  // namespace hub
