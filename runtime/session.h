// A program made ready to run: passes, layouts, packed weights and a memory plan a shape signature.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/import/import.h"
#include "runtime/profile.h"
#include "runtime/program.h"

namespace hub {

class Device;

struct SessionOptions {
  std::string device = "cpu";  ///< "cpu" (oneDNN) or "reference"
  /// Where the optimised program and its packed weights are kept for the next start; empty:
  /// nowhere.
  std::string pack_file;
  /// Where the states of the program live; sessions that train and evaluate one network share them.
  /// Each state of the program must be there (Code::usage otherwise); a run changes the numbers in
  /// place, so they may not be views of a file.
  std::shared_ptr<NamedTensors> states;
};

class Session {
 public:
  /// Throws Code::unsupported / refused on a program that cannot run.
  explicit Session(Program program, SessionOptions options = {});
  /// The session that an earlier one left in options.pack_file, or null when there is none that
  /// fits this build.
  static std::unique_ptr<Session> load(const SessionOptions& options);
  ~Session();
  Session(Session&&) noexcept;

  /// Inputs and outputs of the program, in order, as declared.
  const Program& program() const;
  /// The index of the input called so; throws Code::usage listing the names.
  size_t input_index(std::string_view name) const;

  /// One tensor an input, checked against what is declared (Code::usage names input, found and
  /// wanted). Any size where the declaration has -1: a plan is made for each new set of shapes, and
  /// the latest few are kept.
  /// Any threads may run at once: a run that finds the memory of the others taken gets memory and
  /// plans of its own, while program and packed weights are there once. Each of these threads works
  /// with a team of threads() threads. More runs than there are processors wait for one another, as
  /// do all runs of a program whose states change.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  /// The same into `outputs`, which are written over where type and shape fit and nobody else holds
  /// their memory, and made anew elsewhere. Once there is a plan and the outputs fit, nothing is
  /// allocated, but by oneDNN and by reference implementations.
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);

  struct Memory {
    /// Bytes of the arena of the latest plan, the lower bound (the most that is alive at one time),
    /// and of all values.
    size_t arena = 0, live = 0, sum = 0;
    size_t arenas = 0;  ///< as many as runs were under way at one time
    size_t packed = 0;  ///< bytes of weights in the layouts of kernels
  };
  Memory memory() const;
  /// Times of `runs` whole runs on these inputs, then of each step in as many more.
  Profile profile(const std::vector<Tensor>& inputs, int runs);

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The number of threads of the team that works for one run, whichever thread asks for it; 0: as
/// many as there are processors.
void set_threads(int threads);
int threads();

}  // namespace hub
