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
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

  /// Bytes of the arena of the latest plan, and the lower bound: the most that is alive at one
  /// time.
  struct Memory {
    size_t arena = 0, live = 0, sum = 0;
  };
  Memory memory() const;
  /// Times of `runs` whole runs on these inputs, then of each step in as many more.
  Profile profile(const std::vector<Tensor>& inputs, int runs);

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The number of threads of the one team; 0: as many as there are processors.
void set_threads(int threads);
int threads();

}  // namespace hub
