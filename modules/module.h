// A module opened: its manifest, its networks ready to run, its task. The public header of
// modules/.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hub/hub.h"
#include "modules/task.h"
#include "runtime/runtime.h"

namespace hub {

class Module {
 public:
  /// Opens lazily: networks are imported on first use, and the task is made when it is first asked
  /// for; any thread may be the one that asks. `device` as in SessionOptions. Throws
  /// Code::unsupported naming the task when there is none of that name here, with the list of those
  /// there are.
  static std::unique_ptr<Module> open(Installed installed, Progress& progress,
                                      std::string device = "cpu");
  ~Module();

  const Manifest& manifest() const { return installed_.manifest; }
  const Files& files() const { return *installed_.files; }
  Progress& progress() const { return progress_; }
  /// The network called so in the manifest, ready to run; from its packed plan when there is one.
  Session& network(const std::string& name);
  /// The program of a network as imported, with its parameters.
  Program program(const std::string& name) const;
  /// The same without head and without what fine-tuning changed: the file as it is.
  Program bare_program(const std::string& name) const;
  /// From now on this program in place of the network that the files hold: one in training.
  void use(const std::string& name, Program program);
  /// The names of a network's inputs, in order.
  const std::vector<std::string>& input_names(const std::string& name);
  Task& task();

 private:
  const NetworkSpec& network_spec(const std::string& name) const;
  Module(Installed installed, Progress& progress, std::string device);
  Installed installed_;
  Progress& progress_;
  std::string device_;
  std::recursive_mutex lazy_;  ///< over all below; a task that is being made asks for input names
  std::map<std::string, Session> sessions_;
  std::map<std::string, Program> given_;
  std::map<std::string, std::vector<std::string>> input_names_;
  std::unique_ptr<Task> task_;
};

/// The tasks of this build, sorted.
std::vector<std::string> task_names();

/// Reads the sample that an example's input stands for: {"text": …} or {"file": path in the
/// module}, a picture or a sound for tasks that take one and a text for the others.
Sample example_sample(Module& module, const json& input);

/// Whether `got` is `wanted`: numbers within tolerance, text equal, lists of equal length, every
/// wanted key there. Returns "" or the first difference in words.
std::string compare_output(const json& wanted, const json& got, double tolerance);

}  // namespace hub
