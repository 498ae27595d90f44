// onnxruntime beside hub: a python3 that has it, with one network open, which runs when it is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "modules/module.h"

namespace hub {

class Peer {
 public:
  /// Starts python3 of the PATH on an ONNX file and runs it once on `inputs`, called so; they and
  /// the outputs pass through `folder`. Throws not_found without python3 or onnxruntime,
  /// unsupported when it does not take the network.
  Peer(const std::string& onnx_file, int threads, const std::vector<std::string>& names,
       const std::vector<Tensor>& inputs, std::string folder);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Milliseconds to open the network, and of the first run.
  double open_ms() const { return open_ms_; }
  double first_ms() const { return first_ms_; }
  /// Output i of that run.
  Tensor output(size_t i) const;
  /// Milliseconds of each of so many runs; one more goes before them.
  std::vector<double> run(int runs);

 private:
  /// The process and the line to it; both end with it.
  struct Child {
    ~Child();
    int pid = -1, socket = -1;
  };
  void say(std::string_view line);
  /// The numbers of its next line.
  std::vector<double> numbers();

  std::string folder_;
  Child child_;
  std::string read_;  ///< and not used yet
  double open_ms_ = 0, first_ms_ = 0;
};

}  // namespace hub
