// One node of a file that is being imported, in the file's own words; what the import rules of
// operators work on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/op.h"

namespace hub {

/// ONNX nodes have positional inputs and outputs; Paddle nodes have named slots, each with a list.
class ImportNode {
 public:
  ImportNode(Program& program, std::string type, std::string name, int version)
      : program(program), type(std::move(type)), name(std::move(name)), version(version) {}

  Program& program;
  const std::string type;  ///< "Conv"
  const std::string name;  ///< of the node, for messages; may be empty
  const int version;       ///< ONNX: opset of its domain; Paddle: program version (1006003)
  Attrs attrs;             ///< under the file's own names

  // Inputs. An absent one is an empty Var.
  size_t inputs() const { return positional_.size(); }
  Var in(size_t i) const { return i < positional_.size() ? positional_[i] : Var{}; }
  Var need(size_t i) const;  ///< throws Code::refused when absent
  Var in(std::string_view slot, size_t k = 0) const;
  Var need(std::string_view slot) const;
  Vars all(std::string_view slot) const;
  /// The numbers of an input that is constant in the file; throws Code::unsupported naming the node
  /// otherwise.
  const Tensor& known(Var v) const;

  /// The block under attribute `name` is a program of its own inputs and then these: what it reads
  /// of the graph around it.
  Vars captured(std::string_view name) const;

  // Outputs: rules say what each is. Missing ones must not be wanted by the file.
  size_t outputs() const { return wanted_outputs; }
  void out(size_t i, Var v);
  void out(std::string_view slot, Var v);
  void out_all(std::string_view slot, Vars vars);  ///< a slot with a list: `split`
  bool wants(std::string_view slot) const { return wanted(slot) > 0; }
  size_t wanted(std::string_view slot) const;  ///< the length of the slot's list in the file

  // Sequences (Paddle's LoD): the offsets [0, …, rows] of the sequences in a value's dimension 0,
  // an int64 value.
  Var offsets(std::string_view slot) const;  ///< throws Code::refused when the input carries none
  void set_offsets(std::string_view slot, Var offsets);

  /// Throws Code::unsupported: "<type> node '<name>': <why>".
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... why) const {
    fail_node(concat(why...));
  }

  // Filled and read by the importer.
  Vars positional_;
  std::map<std::string, Vars, std::less<>> slots_;
  std::map<std::string, Var, std::less<>> in_offsets_;
  std::map<std::string, Vars, std::less<>> captured_;
  std::map<std::string, size_t, std::less<>> wanted_slots_;
  size_t wanted_outputs = 0;
  std::map<size_t, Var> out_positional_;
  std::map<std::string, Vars, std::less<>> out_slots_;
  std::map<std::string, Var, std::less<>> out_offsets_;

 private:
  [[noreturn]] void fail_node(const std::string& why) const;
};

}  // namespace hub
