// A program for one set of input shapes, ready to run: every operand has its place, every call its
// kernel.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/arena.h"
#include "runtime/device/device.h"
#include "runtime/profile.h"
#include "runtime/program.h"

namespace hub {

/// Constants in the layouts that kernels want: packed once, shared by all plans of a session. Any
/// threads may ask at once.
class Packs {
 public:
  struct Packed {
    LayoutPtr layout;
    Tensor source;  ///< keeps the plain constant's identity
    std::shared_ptr<const void> owner;
    const void* data = nullptr;
  };
  /// The constant in `layout`. A constant whose numbers are gone (it came packed from disk) is
  /// converted from there.
  const void* get(Device& device, const Tensor& constant, const LayoutPtr& layout);
  /// Registers what lies packed on disk; `constant` is its stand-in, with type, shape and the
  /// packed bytes.
  void adopt(const Tensor& constant, LayoutPtr layout, std::shared_ptr<const void> owner);
  /// The layouts in which the constant is held, plain ones as null.
  std::vector<const Packed*> of(const Tensor& constant) const;
  size_t bytes() const;  ///< of what lies in layouts of kernels

 private:
  mutable std::mutex mutex_;
  std::multimap<const void*, Packed> packed_;  ///< grows only: what was given stays there
};

class Plan {
 public:
  /// `program` is specialised already; its constants are shared. Throws Code::refused when the
  /// arena would pass the machine's memory.
  /// Plans that are given one arena never run at the same time: they lie in one memory. `states`
  /// holds the numbers of program.states, in order, where the plan reads and writes them.
  Plan(const Program& program, const std::vector<Spec>& specs, Device& device, Packs& packs,
       const std::vector<Tensor>& states, std::shared_ptr<void>& arena);

  /// As Session::run.
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  const ArenaSize& memory() const { return size_; }
  /// The times of each step in `runs` runs on these inputs.
  std::vector<StepTime> profile(const std::vector<Tensor>& inputs, int runs);

 private:
  void load(const std::vector<Tensor>& inputs);
  struct Entry {
    Step run;
    StepTime about;  ///< without times
  };
  std::vector<Entry> steps_;
  ArenaSize size_;
  std::shared_ptr<void> arena_;
  struct Port {
    Spec spec;
    void* place = nullptr;
  };
  std::vector<Port> inputs_, outputs_;
  std::vector<std::shared_ptr<const void>> keep_;
};

}  // namespace hub
