// The network that infer, profile and bench work on, and the tensors they give it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "modules/module.h"

namespace hub {

/// A network of a module (installed on first use), or of a file: what the arguments "source" and
/// "--network" name.
class Network {
 public:
  Network(const Args& args, Context& context, std::string device);

  /// "mobilenet@1.0.0 main", or the path of the file.
  std::string title() const;
  /// As imported.
  Program program() const;
  /// Ready to run, made on first use.
  Session& session();
  /// Its ONNX file: where it lies, or copied into `folder`. Throws Code::usage when it comes from
  /// another format.
  std::string onnx_file(const std::string& folder) const;

 private:
  std::optional<Hub> hub_;
  std::unique_ptr<Module> module_;  ///< null: a file
  std::string name_;                ///< in the module, or the file
  std::string device_;
  std::optional<Session> session_;
};

/// The tensors of --in, in the order of the inputs; empty where none was given.
std::vector<Tensor> given_inputs(const Args& args, const Session& session);
/// Makes up those that are empty: floats from 0 to 1, ones of other types; of the shape of --shape,
/// or of the declared one with 1 for what is unknown.
void make_up_inputs(const Args& args, const Session& session, std::vector<Tensor>& inputs);

}  // namespace hub
