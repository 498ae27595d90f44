#include "runtime/budget.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"

namespace hub {
namespace {

/// What a tensor takes beside its numbers, about.
constexpr size_t overhead = 256;

/// Outlives its Budget where tensors do, which may end on other threads.
struct Account {
  Account(size_t live, size_t total) : most_live(live), most_total(total) {}
  const size_t most_live, most_total;
  std::atomic<size_t> live = 0;
  size_t total = 0;
};

/// Of the outermost budget of this thread.
struct Limits {
  size_t live = 0, total = 0;
  bool set = false;
};
thread_local Limits limits;
thread_local std::shared_ptr<Account> account;  ///< opened by the first tensor

}  // namespace

Budget::Budget(size_t live, size_t total) : outermost_(!limits.set) {
  if (outermost_) limits = {live, total, true};
}

Budget::~Budget() {
  if (!outermost_) return;
  limits = {};
  account.reset();
}

size_t physical_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t memory_left() {
  if (!limits.set) return physical_memory();
  if (!account) return std::min(limits.live, limits.total);
  return std::min(account->most_live - account->live, account->most_total - account->total);
}

std::shared_ptr<void> charge_memory(size_t bytes) {
  if (!limits.set) return nullptr;
  if (!account) account = std::make_shared<Account>(limits.live, limits.total);
  if (bytes > SIZE_MAX - overhead || bytes + overhead > memory_left())
    fail(Code::refused, bytes, " bytes are wanted where ", memory_left(), " are left of the ",
         std::min(account->most_live, account->most_total), " that this run may take");
  bytes += overhead;
  account->live += bytes;
  account->total += bytes;
  return {account.get(), [bytes, kept = account](void*) { kept->live -= bytes; }};
}

}  // namespace hub
