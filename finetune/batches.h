// Batches for training: in the order of the epoch, prepared by threads ahead of the step.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

namespace hub {

struct Batch {
  std::vector<Tensor> inputs;  ///< of the training program: the network's, then the targets
  double weight = 0;
  size_t rows = 0;
};

/// Makes batches `first`, first + 1, … below `count` on `threads` threads, at most `depth` ahead of
/// what was taken. `make` is called from those threads; what it throws is thrown by take(), in the
/// place of that batch.
class Ahead {
 public:
  Ahead(size_t first, size_t count, int threads, size_t depth, std::function<Batch(size_t)> make);
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// The next batch in order; call it no more often than there are batches.
  Batch take();

 private:
  struct Made {
    Batch batch;
    std::exception_ptr error;
  };
  void work();

  size_t next_, count_, taken_, depth_;
  std::function<Batch(size_t)> make_;
  std::mutex mutex_;
  std::condition_variable made_, room_;
  std::map<size_t, Made> ready_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hub
