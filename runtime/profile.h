// Where the time of a network goes: what Session::profile gives.
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace hub {

struct StepTime {
  std::string op;        ///< the operator, or "reorder" (between layouts), "state" (a copy of one)
  Shape shape;           ///< of its first output
  std::string how, why;  ///< as in Prepared (device.h)
  double flops = 0;      ///< flops.h
  double ms = 0;         ///< its fastest time
  /// When it began and how long it took in the fastest of the runs that went step by step.
  double begin = 0, took = 0;
};

struct Profile {
  std::vector<double> runs;     ///< milliseconds of whole runs, as they came
  std::vector<StepTime> steps;  ///< in order; none when the program runs in stages (stages.h)
  bool stages = false;
  double peak = 0;        ///< operations a second that as many threads reach at best (burn.h)
  size_t parameters = 0;  ///< bytes of the constants
  size_t packed = 0;      ///< bytes of those that lie in layouts of kernels
};

}  // namespace hub
