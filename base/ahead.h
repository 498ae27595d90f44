// Things made by threads ahead of the one that takes them, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace hub {

/// Makes things number `first`, first + 1, … below `count` on `threads` threads, at most `depth`
/// ahead of what was taken. `make` is called from those threads; what it throws is thrown by
/// take(), in the place of that thing.
template <class T>
class Ahead {
 public:
  Ahead(size_t first, size_t count, int threads, size_t depth, std::function<T(size_t)> make)
      : next_(first), count_(count), taken_(first), depth_(depth), make_(std::move(make)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// The next thing in order; call it no more often than there are things.
  T take() {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [&] { return ready_.contains(taken_); });
    Made made = std::move(ready_.extract(taken_++).mapped());
    room_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return std::move(*made.thing);
  }

 private:
  struct Made {
    std::optional<T> thing;
    std::exception_ptr error;
  };

  void work() {
    for (;;) {
      size_t mine = 0;
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stop_ || next_ >= count_ || next_ < taken_ + depth_; });
        if (stop_ || next_ >= count_) return;
        mine = next_++;
      }
      Made made;
      try {
        made.thing = make_(mine);
      } catch (...) {
        made.error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        ready_.emplace(mine, std::move(made));
      }
      made_.notify_one();
    }
  }

  size_t next_, count_, taken_, depth_;
  std::function<T(size_t)> make_;
  std::mutex mutex_;
  std::condition_variable made_, room_;
  std::map<size_t, Made> ready_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hub
