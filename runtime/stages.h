// Running a program whose shapes depend on its numbers: what can be planned from shapes runs as
// plans on the device, the calls in between run one by one.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/block.h"
#include "runtime/program.h"

namespace hub {

class Session;

class Stages {
 public:
  /// `program` outlives this.
  Stages(const Program& program, std::string device);
  ~Stages();

  /// `values` holds the program's inputs, constants and states, and gets its outputs and what its
  /// states become. Any threads may run at once.
  void run(std::vector<Tensor>& values);

 private:
  /// What to do next when the values that are there have such types and shapes.
  struct Stage {
    std::vector<char> there;     ///< of each value
    std::vector<Spec> specs;     ///< of those that are there
    std::vector<size_t> single;  ///< calls to run one by one, in order, once the session has run
    std::vector<size_t> planned;
    std::vector<ValueId> in, out;      ///< of the session
    std::shared_ptr<Session> session;  ///< null: nothing is worth a plan; `single` has all
  };
  std::shared_ptr<const Stage> next(size_t index, const std::vector<char>& done,
                                    const std::vector<char>& there,
                                    const std::vector<Tensor>& values);
  Stage make(const std::vector<char>& done, const std::vector<char>& there,
             const std::vector<Tensor>& values);
  void add_session(Stage& stage, const std::vector<char>& done);

  const Program& p_;
  std::string device_;
  Blocks blocks_;
  std::mutex mutex_;  ///< over all below
  std::vector<std::list<std::shared_ptr<const Stage>>>
      stages_;  ///< of each step of a run, latest first
  std::map<std::vector<size_t>, std::shared_ptr<Session>> sessions_;  ///< by the calls in them
};

}  // namespace hub
