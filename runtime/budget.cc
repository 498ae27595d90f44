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

thread_local std::shared_ptr<Account> account;

}  // namespace

Budget::Budget(size_t live, size_t total) : outermost_(!account) {
  if (outermost_) account = std::make_shared<Account>(live, total);
}

Budget::~Budget() {
  if (outermost_) account.reset();
}

size_t physical_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t memory_left() {
  if (!account) return physical_memory();
  return std::min(account->most_live - account->live, account->most_total - account->total);
}

std::shared_ptr<void> charge_memory(size_t bytes) {
  if (!account) return nullptr;
  if (bytes > SIZE_MAX - overhead || bytes + overhead > memory_left())
    fail(Code::refused, bytes, " bytes are wanted where ", memory_left(), " are left of the ",
         std::min(account->most_live, account->most_total), " that this run may take");
  bytes += overhead;
  account->live += bytes;
  account->total += bytes;
  return {account.get(), [bytes, kept = account](void*) { kept->live -= bytes; }};
}

}  // namespace hub
