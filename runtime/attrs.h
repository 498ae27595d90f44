// Attributes of an operator call: names with plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/tensor.h"

namespace hub {

struct Program;
/// A program that an operator runs: the body of a loop. It never changes once it is here.
using BlockPtr = std::shared_ptr<const Program>;

using Attr = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                          std::vector<std::string>, Tensor, BlockPtr>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const std::string, Attr>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  void set(std::string name, Attr value) {
    items_.insert_or_assign(std::move(name), std::move(value));
  }
  void erase(std::string_view name);

  // Without a fallback a missing attribute is refused by name; so is one of another kind. An
  // integer serves as a float.
  int64_t i(std::string_view name) const;
  int64_t i(std::string_view name, int64_t fallback) const;
  double f(std::string_view name) const;
  double f(std::string_view name, double fallback) const;
  const std::string& s(std::string_view name) const;
  std::string s(std::string_view name, std::string_view fallback) const;
  std::vector<int64_t> ints(
      std::string_view name) const;  ///< missing: empty; one integer: a list of one
  std::vector<double> floats(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  const BlockPtr& block(std::string_view name) const;

  const std::map<std::string, Attr, std::less<>>& items() const { return items_; }

 private:
  const Attr* find(std::string_view name) const;
  std::map<std::string, Attr, std::less<>> items_;
};

}  // namespace hub
