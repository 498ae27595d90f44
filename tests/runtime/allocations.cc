#include "tests/runtime/allocations.h"

#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hub {
namespace {

std::atomic<bool> counting = false;
std::atomic<size_t> of_us = 0, of_onednn = 0;

/// Where the code of oneDNN's library lies.
struct Range {
  uintptr_t begin = 0, end = 0;
  Range() { dl_iterate_phdr(look, this); }
  static int look(dl_phdr_info* info, size_t, void* self) {
    if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
    auto& range = *static_cast<Range*>(self);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
      range.begin = info->dlpi_addr + part.p_vaddr;
      range.end = range.begin + part.p_memsz;
    }
    return 1;
  }
};

void* take(size_t bytes, size_t alignment, const void* caller) {
  if (counting) {
    static const Range onednn;
    const auto at = reinterpret_cast<uintptr_t>(caller);
    ++(at >= onednn.begin && at < onednn.end ? of_onednn : of_us);
  }
  void* p = nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

void* take_or_throw(size_t bytes, size_t alignment, const void* caller) {
  void* p = take(bytes, alignment, caller);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

CountAllocations::CountAllocations() {
  of_us = of_onednn = 0;
  counting = true;
}
CountAllocations::~CountAllocations() { counting = false; }
size_t CountAllocations::ours() { return of_us; }
size_t CountAllocations::onednn() { return of_onednn; }

}  // namespace hub

#define CALLER __builtin_return_address(0)
using hub::take;
using hub::take_or_throw;
using std::align_val_t;
using std::nothrow_t;

extern "C" void* aligned_alloc(size_t a, size_t n) { return take(n, a, CALLER); }

void* operator new(size_t n) { return take_or_throw(n, 1, CALLER); }
void* operator new[](size_t n) { return take_or_throw(n, 1, CALLER); }
void* operator new(size_t n, const nothrow_t&) noexcept { return take(n, 1, CALLER); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return take(n, 1, CALLER); }
void* operator new(size_t n, align_val_t a) { return take_or_throw(n, size_t(a), CALLER); }
void* operator new[](size_t n, align_val_t a) { return take_or_throw(n, size_t(a), CALLER); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take(n, size_t(a), CALLER);
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take(n, size_t(a), CALLER);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { std::free(p); }
