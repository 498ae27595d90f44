// A device: given one operator call with fixed shapes, it says in what layout it wants each operand
// and how to run it. The plan (plan.cc) asks once for each call and runs the answers many times.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/op.h"

namespace hub {

/// How a value lies in memory. A null pointer is the plain layout: contiguous, row-major.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual size_t bytes() const = 0;
  virtual bool same(const Layout& other) const = 0;
  virtual std::string save() const = 0;  ///< bytes from which the device restores it
};
using LayoutPtr = std::shared_ptr<const Layout>;
bool same_layout(const LayoutPtr& a, const LayoutPtr& b);
size_t layout_bytes(const LayoutPtr& layout, const Spec& spec);

/// One operand as the plan has it now.
struct Operand {
  Spec spec;
  LayoutPtr layout;  ///< of inputs: where the value is already; a device may take it as it is
  const Tensor* constant = nullptr;
  bool present = false;
};

/// Where the operands of one call lie; fixed for the life of a plan.
struct Places {
  std::vector<void*> in, out;
  void* scratch = nullptr;
};
using Step = std::function<void()>;

/// How a device runs one call. Inputs of which only the shape matters (OpDef::spec_only) have no
/// place.
struct Prepared {
  std::vector<LayoutPtr> in,
      out;                     ///< the layout of each operand; the plan puts reorders in between
  size_t scratch = 0;          ///< bytes of private memory while it runs
  int alias = -1;              ///< output 0 is input `alias` seen differently: nothing runs
  std::vector<size_t> joined;  ///< where in output 0 each input is copied to, in bytes, if that is
                               ///< all that runs: one that lies there already is left alone
  std::vector<size_t> parts;   ///< where in input 0 each output is copied from: nothing runs when
                               ///< they are the memory there
  std::vector<int> in_place;   ///< output k may take the memory of input in_place[k] when nobody
                               ///< reads that later; -1: it may not
  std::string how;             ///< the implementation, for profiles
  std::string why;             ///< why it is no better one, where there might be one
  std::function<Step(const Places&)> bind;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// What its choice of layouts depends on: packs of another kind are made anew.
  virtual std::string kind() const { return std::string(name()); }
  /// Throws Code::unsupported naming the operator when there is no kernel for it.
  virtual Prepared prepare(const OpCall& call, std::span<const Operand> in,
                           std::span<const Spec> out) = 0;
  /// Copies a value from one layout to another.
  virtual Step reorder(const Spec& spec, const LayoutPtr& from, const void* src,
                       const LayoutPtr& to, void* dst) = 0;
  /// A layout from save(); null when this build does not know it.
  virtual LayoutPtr restore(std::string_view saved) = 0;
};

/// Opens a device by name ("cpu", "reference"); throws Code::usage listing those there are.
Device& open_device(std::string_view name);

/// Runs every operator by its reference implementation, in plain layout: complete, and the oracle
/// of the others.
class Reference : public Device {
 public:
  std::string_view name() const override { return "reference"; }
  Prepared prepare(const OpCall& call, std::span<const Operand> in,
                   std::span<const Spec> out) override;
  Step reorder(const Spec& spec, const LayoutPtr& from, const void* src, const LayoutPtr& to,
               void* dst) override;
  LayoutPtr restore(std::string_view) override { return nullptr; }
};

}  // namespace hub
