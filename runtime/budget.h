// A bound on the memory of tensors, kept before each is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/error.h"

namespace hub {

/// While it lives, the tensors that this thread makes take at most `live` bytes at one time, and
/// all of them together, those that are gone included, at most `total`. Inside another one it
/// changes nothing.
class Budget {
 public:
  explicit Budget(size_t live, size_t total = SIZE_MAX);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

 private:
  bool outermost_;
};

/// Bytes of this machine.
size_t physical_memory();

/// What the tensors of this thread may take more: what is left of its budget, or the machine's
/// memory.
size_t memory_left();

/// Counts `bytes` against the budget of this thread for as long as the result lives; throws
/// Code::refused, before anything is taken, when they pass it. Null without a budget.
std::shared_ptr<void> charge_memory(size_t bytes);

/// Runs f on a budget of the machine's memory; what the machine still cannot give is an Error too.
template <class F>
auto in_memory(F&& f) -> decltype(f()) {
  const Budget budget(physical_memory());
  constexpr std::string_view full =
      "not enough memory; end other programs, or give it smaller inputs or a smaller network";
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail(Code::refused, full);
  } catch (const std::length_error&) {  // more than could ever be addressed
    fail(Code::refused, full);
  }
}

}  // namespace hub
