// The parameters of a network: which of them train under a strategy, and how deep they lie.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"

namespace hub {

class Parameters {
 public:
  explicit Parameters(const Program& network);

  /// `freeze`: parts of names, by commas. `stage` of `blocks`: how many blocks from the head down
  /// train.
  bool trains(std::string_view name, std::string_view strategy, std::string_view freeze, int stage,
              int blocks) const;
  /// The network cut into `blocks` of as many parameters each, in the order of their use: how many
  /// blocks lie between this one and the head (whose own are 0).
  int blocks_above(std::string_view name, int blocks) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;  ///< in the order in which the network uses them
  std::map<std::string, size_t, std::less<>> place_;
  std::set<std::string, std::less<>> statistics_;  ///< running means and variances
};

}  // namespace hub
