#include "runtime/team.h"

#include <omp.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/session.h"

namespace hub {
namespace {

/// OpenMP keeps it for each thread apart. 0: nobody has said.
std::atomic<int> team_size = 0;

}  // namespace

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

void join_team() {
  const int size = team_size;
  if (size != 0 && size != omp_get_max_threads()) omp_set_num_threads(size);
}

void set_threads(int threads) {
  team_size = threads > 0 ? threads : omp_get_num_procs();
  join_team();
}

int threads() {
  join_team();
  return omp_get_max_threads();
}

}  // namespace hub
