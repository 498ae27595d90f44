// A pickle reader that cannot do anything: it knows the few opcodes and the few globals of a
// PyTorch state_dict and of NumPy's arrays, builds plain values from them and refuses everything
// else by name. It never looks a name up and never calls anything.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/tensor.h"

namespace hub {

struct PyNone {};
struct PyMark {};
struct PyGlobal;
struct PyList;
struct PyDict;
struct PyStorage;
struct PyTensor;
struct PyArray;

/// Cheap to copy: everything large belongs to the Pickle.
using PyValue =
    std::variant<PyNone, PyMark, bool, int64_t, double, const std::string*, const PyGlobal*,
                 PyList*, PyDict*, const PyStorage*, const PyTensor*, PyArray*>;

struct PyList {
  bool tuple = false;
  std::vector<PyValue> items;
};
struct PyDict {
  std::vector<std::pair<PyValue, PyValue>>
      items;  ///< in the order they were set; the last of equal keys counts
};
struct PyStorage {
  std::string key;
  DType dtype;
  int64_t numel;
};
struct PyTensor {
  const PyStorage* storage;
  int64_t offset;
  std::vector<int64_t> size, strides;
};
/// An array of NumPy in C order, or, with `is_type`, one of its dtypes.
struct PyArray {
  bool is_type = false;
  DType dtype = DType::none;
  std::vector<int64_t> size;
  const std::string* bytes = nullptr;  ///< null: not filled yet
};

class Pickle {
 public:
  /// Reads the pickle that begins at bytes[at] and moves `at` behind it. Throws Code::refused
  /// naming opcode or global and its offset.
  Pickle(std::span<const std::byte> bytes, size_t& at);
  const PyValue& value() const { return value_; }
  /// Every storage that is referred to.
  const std::deque<PyStorage>& storages() const { return storages_; }

 private:
  friend class PickleMachine;
  PyValue value_;
  std::deque<std::string> texts_;
  std::deque<PyList> lists_;
  std::deque<PyDict> dicts_;
  std::deque<PyStorage> storages_;
  std::deque<PyTensor> tensors_;
  std::deque<PyArray> arrays_;
};

}  // namespace hub
