// A program: operator calls over named values, each value written once. It is what every importer
// and every network definition makes, what the passes rewrite and what the executor runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/attrs.h"
#include "runtime/tensor.h"

namespace hub {

struct OpDef;
using ValueId = int32_t;
constexpr ValueId absent = -1;  ///< an optional input or output that is not there

struct Value {
  std::string name;  ///< unique in the program
  Spec declared;  ///< inputs and, where the file says it, outputs: -1 for unknown dimensions; none
                  ///< when not declared
  Tensor constant;  ///< parameters and other constants; empty for what is computed
};

struct OpCall {
  const OpDef* op = nullptr;
  std::vector<ValueId> in;  ///< may hold `absent`; trailing ones are cut off
  std::vector<ValueId> out;
  Attrs attrs;
  std::string name;  ///< of the node in the file it came from; for messages
};

/// A value that keeps its numbers from one run to the next: a parameter, a running mean, what an
/// optimizer remembers. The numbers live outside the program (SessionOptions::states), under the
/// value's name.
struct State {
  ValueId value = absent;
  ValueId next = absent;  ///< what it becomes at the end of a run; absent: it is only read
};

class Tape;

/// Set while calls run as they are written (tape.h); a copy of the program is only a program.
struct TapeRef {
  Tape* tape = nullptr;
  TapeRef() = default;
  TapeRef(const TapeRef&) {}
  TapeRef& operator=(const TapeRef&) { return *this; }
};

struct Program {
  std::string name;
  std::vector<Value> values;
  std::vector<OpCall> ops;  ///< in an order that can be run
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<State> states;
  TapeRef tape;

  /// A new value; a name that is taken gets "~1", "~2"… behind it, an empty one becomes "%N".
  ValueId add_value(std::string name, Spec declared = {});
  ValueId add_input(std::string name, Spec declared);
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId add_state(std::string name, Spec declared);
  /// Gives a value another name, made unique in the same way.
  void rename(ValueId id, std::string name);
  /// The value called so, or `absent`.
  ValueId find(std::string_view name) const;
  const Value& operator[](ValueId id) const { return values[static_cast<size_t>(id)]; }
  Value& operator[](ValueId id) { return values[static_cast<size_t>(id)]; }

  /// Throws Code::refused naming the call: ids in range, written once, written before read, arity
  /// as the operator says.
  void check() const;

 private:
  std::map<std::string, ValueId, std::less<>> names_;
};

/// The program as text, one line a call: `%7 = conv(%x, w_1, b_1) strides=[2, 2] …`.
std::string to_text(const Program& program);

/// The program as a protobuf message (runtime/program.proto), constants included.
std::string to_bytes(const Program& program);
/// Constants view `bytes`, kept alive by `owner`. Throws Code::refused on anything malformed.
Program program_from_bytes(std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace hub
