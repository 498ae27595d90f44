#include "finetune/batches.h"

namespace hub {

Ahead::Ahead(size_t first, size_t count, int threads, size_t depth,
             std::function<Batch(size_t)> make)
    : next_(first), count_(count), taken_(first), depth_(depth), make_(std::move(make)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Ahead::~Ahead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Batch Ahead::take() {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return ready_.contains(taken_); });
  Made made = std::move(ready_.extract(taken_++).mapped());
  room_.notify_all();
  if (made.error) std::rethrow_exception(made.error);
  return std::move(made.batch);
}

void Ahead::work() {
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
      made.batch = make_(mine);
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

}  // namespace hub
