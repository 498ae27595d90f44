#include "runtime/plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "runtime/budget.h"
#include "runtime/flops.h"
#include "runtime/passes/passes.h"

namespace hub {

// ---- packed constants ----

const void* Packs::get(Device& device, const Tensor& constant, const LayoutPtr& layout) {
  const std::lock_guard lock(mutex_);  // also while it packs: who asks for the same one waits
  auto [from, to] = packed_.equal_range(constant.raw());
  const Packed* on_disk = nullptr;
  for (auto it = from; it != to; ++it) {
    if (same_layout(it->second.layout, layout)) return it->second.data;
    if (it->second.data == constant.raw()) on_disk = &it->second;
  }
  const LayoutPtr source = on_disk != nullptr ? on_disk->layout : nullptr;
  if (!layout && !source) return constant.raw();
  Packed p;
  p.layout = layout;
  p.source = constant;
  const size_t bytes = layout_bytes(layout, constant.spec());
  Tensor memory(DType::u8, {static_cast<int64_t>(bytes)});
  std::memset(memory.raw(), 0, bytes);  // padding of blocked layouts is read
  p.owner = memory.owner();
  p.data = memory.raw();
  device.reorder(constant.spec(), source, constant.raw(), layout, memory.raw())();
  return packed_.emplace(constant.raw(), std::move(p))->second.data;
}

void Packs::adopt(const Tensor& constant, LayoutPtr layout, std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  packed_.emplace(constant.raw(),
                  Packed{std::move(layout), constant, std::move(owner), constant.raw()});
}

std::vector<const Packs::Packed*> Packs::of(const Tensor& constant) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Packed*> all;
  auto [from, to] = packed_.equal_range(constant.raw());
  for (auto it = from; it != to; ++it) all.push_back(&it->second);
  return all;
}

size_t Packs::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [constant, p] : packed_)
    sum += p.layout ? layout_bytes(p.layout, p.source.spec()) : 0;
  return sum;
}

// ---- building ----

namespace {

constexpr int forever = std::numeric_limits<int>::max() / 2;

/// A piece of memory: a value in one layout, or the scratch of a call.
struct Slot {
  Spec spec;
  LayoutPtr layout;
  const void* fixed = nullptr;  ///< constants and states: where they are
  bool state = false;
  int root = -1;      ///< the slot whose memory it is, when it is an alias
  size_t offset = 0;  ///< in the memory of `root`
  bool held = false;  ///< a part of it is read for itself: not to be overwritten
  int first = forever, last = -1;
  size_t bytes = 0;
};

struct Pending {
  Prepared prepared;
  std::vector<int> in, out;  ///< slots, -1 absent
  int scratch = -1;
  StepTime about;
  // A reorder instead of a call:
  bool reorder = false;
};

class Builder {
 public:
  Builder(const Program& program, const std::vector<Spec>& specs, Device& device, Packs& packs,
          const std::vector<Tensor>& states)
      : p_(program),
        specs_(specs),
        device_(device),
        packs_(packs),
        states_(states),
        home_(program.values.size(), -1) {}

  void build() {
    const Uses uses(p_);
    for (ValueId id : p_.inputs) home_[static_cast<size_t>(id)] = add(spec(id), nullptr);
    for (size_t i = 0; i < p_.states.size(); ++i) {
      const int slot = add(spec(p_.states[i].value), nullptr);
      slots[static_cast<size_t>(slot)].fixed = states_[i].raw();
      slots[static_cast<size_t>(slot)].state = true;
      home_[static_cast<size_t>(p_.states[i].value)] = slot;
    }
    for (size_t c = 0; c < p_.ops.size(); ++c) call(p_.ops[c], static_cast<int>(c), uses);
    for (ValueId id : p_.outputs) outputs.push_back(in_layout(id, nullptr));
    for (const State& s : p_.states)
      next.push_back(s.next == absent ? -1 : in_layout(s.next, nullptr));
    update_in_place();
  }

  std::vector<Slot> slots;
  std::vector<Pending> steps;
  std::vector<int> outputs;
  std::vector<std::vector<Inside>> joins;  ///< of each concatenation, with slots for boxes
  std::vector<int> next;  ///< of each state: the slot of what it becomes, -1: it stays

  int input(ValueId id) const { return home_[static_cast<size_t>(id)]; }
  int root(int slot) const {
    while (slots[static_cast<size_t>(slot)].root >= 0) slot = slots[static_cast<size_t>(slot)].root;
    return slot;
  }

 private:
  const Spec& spec(ValueId id) const { return specs_[static_cast<size_t>(id)]; }

  int add(const Spec& spec, const LayoutPtr& layout) {
    Slot s;
    s.spec = spec;
    s.layout = layout;
    s.bytes = std::max<size_t>(layout_bytes(layout, spec), 1);
    slots.push_back(s);
    return static_cast<int>(slots.size()) - 1;
  }

  /// The slot that holds value `id` in `layout`, made by a reorder when it is not there yet.
  int in_layout(ValueId id, const LayoutPtr& layout) {
    const Tensor& constant = p_[id].constant;
    auto& copies = copies_[id];
    if (copies.empty() && home_[static_cast<size_t>(id)] >= 0) {
      copies.push_back(home_[static_cast<size_t>(id)]);
    }
    for (int s : copies) {
      if (same_layout(slots[static_cast<size_t>(s)].layout, layout)) return s;
    }
    const int made = add(spec(id), layout);
    if (constant) {
      slots[static_cast<size_t>(made)].fixed = packs_.get(device_, constant, layout);
    } else {
      Pending step;
      step.reorder = true;
      step.in = {copies.at(0)};
      step.out = {made};
      step.about = {.op = "reorder", .shape = spec(id).shape, .how = "reorder", .why = {}};
      steps.push_back(std::move(step));
    }
    copies_[id].push_back(made);
    return made;
  }

  void call(const OpCall& op, int index, const Uses& uses) {
    std::vector<Operand> in(op.in.size());
    for (size_t i = 0; i < op.in.size(); ++i) {
      const ValueId id = op.in[i];
      if (id == absent) continue;
      in[i].present = true;
      in[i].spec = spec(id);
      if (p_[id].constant) {
        in[i].constant = &p_[id].constant;
      } else {
        in[i].layout = slots[static_cast<size_t>(home_[static_cast<size_t>(id)])].layout;
      }
    }
    std::vector<Spec> read, out;
    for (ValueId id : op.in) read.push_back(id == absent ? Spec{} : spec(id));
    for (ValueId id : op.out) out.push_back(id == absent ? Spec{} : spec(id));
    Pending step;
    step.prepared = device_.prepare(op, in, out);
    step.about = {.op = std::string(op.op->name),
                  .shape = out.empty() ? Shape() : out[0].shape,
                  .how = step.prepared.how,
                  .why = step.prepared.why,
                  .flops = flops_of(op, read, out)};
    for (size_t i = 0; i < op.in.size(); ++i) {
      const bool unread = op.in[i] == absent || (op.op->spec_only >> i & 1) != 0;
      step.in.push_back(unread ? -1 : in_layout(op.in[i], step.prepared.in[i]));
    }
    for (size_t i = 0; i < op.out.size(); ++i) {
      if (op.out[i] == absent) {
        // The reference implementations may write every output.
        step.out.push_back(-1);
        continue;
      }
      const int s = add(out[i], step.prepared.out[i]);
      home_[static_cast<size_t>(op.out[i])] = s;
      step.out.push_back(s);
    }
    for (size_t k = 0; k < step.prepared.parts.size(); ++k) {
      if (step.out[k] < 0) continue;
      slots[static_cast<size_t>(step.out[k])].root = step.in[0];
      slots[static_cast<size_t>(step.out[k])].offset = step.prepared.parts[k];
    }
    if (!step.prepared.parts.empty()) return;
    if (!step.prepared.joined.empty()) join(op, step, index, uses);
    if (step.prepared.alias >= 0) {
      slots[static_cast<size_t>(step.out[0])].root =
          step.in[static_cast<size_t>(step.prepared.alias)];
      return;
    }
    for (size_t k = 0; k < std::min(step.prepared.in_place.size(), step.out.size()); ++k) {
      const int i = step.prepared.in_place[k];
      if (i < 0 || step.out[k] < 0 || step.in[static_cast<size_t>(i)] < 0) continue;
      const int source = step.in[static_cast<size_t>(i)];
      const ValueId id = op.in[static_cast<size_t>(i)];
      const Slot& from = slots[static_cast<size_t>(source)];
      if (from.state) {
        updates_.push_back({source, step.out[k], static_cast<int>(steps.size())});
        continue;
      }
      const bool dies = uses.only_reader(id) == index && !p_[id].constant;
      if (dies && from.root < 0 && !from.held && from.fixed == nullptr &&
          from.bytes == slots[static_cast<size_t>(step.out[k])].bytes && copies_[id].size() <= 1) {
        slots[static_cast<size_t>(step.out[k])].root = source;
      }
    }
    if (step.prepared.scratch > 0) {
      step.scratch = add({DType::u8, {static_cast<int64_t>(step.prepared.scratch)}}, nullptr);
    }
    steps.push_back(std::move(step));
  }

  /// The inputs of a concatenation may be written where they will lie in its output.
  void join(const OpCall& op, const Pending& step, int index, const Uses& uses) {
    Slot& whole = slots[static_cast<size_t>(step.out[0])];
    auto& wishes = joins.emplace_back();
    for (size_t i = 0; i < step.in.size(); ++i) {
      // Of a result that was made in place, or is only seen differently, the memory is another's.
      const int at = root(step.in[i]);
      const Slot& part = slots[static_cast<size_t>(at)];
      if (part.fixed != nullptr || part.bytes != slots[static_cast<size_t>(step.in[i])].bytes)
        continue;
      wishes.push_back({at, step.out[0], step.prepared.joined[i]});
      whole.held =
          whole.held || part.held || at != step.in[i] || uses.only_reader(op.in[i]) != index;
    }
  }

  /// What a state becomes is written over it where its step is the last to read the state.
  void update_in_place() {
    std::vector<int> last(slots.size(), -1);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (int slot : steps[s].in)
        if (slot >= 0) last[static_cast<size_t>(root(slot))] = static_cast<int>(s);
    }
    for (int slot : outputs) last[static_cast<size_t>(root(slot))] = forever;
    for (const UpdateStep& u : updates_) {
      size_t i = 0;
      while (i < next.size() && home_[static_cast<size_t>(p_.states[i].value)] != u.state) ++i;
      const bool becomes = i < next.size() && next[i] == u.result;
      if (becomes && last[static_cast<size_t>(u.state)] <= u.step &&
          slots[static_cast<size_t>(u.result)].root < 0)
        slots[static_cast<size_t>(u.result)].root = u.state;
    }
  }

  struct UpdateStep {
    int state, result, step;
  };
  std::vector<UpdateStep> updates_;
  const Program& p_;
  const std::vector<Spec>& specs_;
  Device& device_;
  Packs& packs_;
  const std::vector<Tensor>& states_;
  std::vector<int> home_;
  std::map<ValueId, std::vector<int>> copies_;
};

/// Addresses for as much as the machine has; memory is taken as it is touched.
std::shared_ptr<void> reserve() {
  const size_t bytes = physical_memory();
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fail(Code::refused, "no address space for the values of a program");
  ::madvise(p, bytes, MADV_HUGEPAGE);
  return {p, [bytes](void* q) { ::munmap(q, bytes); }};
}

}  // namespace

Plan::Plan(const Program& program, const std::vector<Spec>& specs, Device& device, Packs& packs,
           const std::vector<Tensor>& states, std::shared_ptr<void>& arena) {
  Builder b(program, specs, device, packs, states);
  b.build();
  auto touch = [&](int slot, int when) {
    if (slot < 0) return;
    Slot& root = b.slots[static_cast<size_t>(b.root(slot))];
    root.first = std::min(root.first, when);
    root.last = std::max(root.last, when);
  };
  const int count = static_cast<int>(b.steps.size());
  for (ValueId id : program.inputs) touch(b.input(id), -1);
  for (int s = 0; s < count; ++s) {
    const Pending& step = b.steps[static_cast<size_t>(s)];
    for (int slot : step.in) touch(slot, s);
    for (int slot : step.out) touch(slot, s);
    touch(step.scratch, s);
  }
  for (int slot : b.outputs) touch(slot, count);
  for (int slot : b.next) touch(slot, count);

  std::vector<Box> boxes;
  std::vector<int> box_of(b.slots.size(), -1);
  for (size_t i = 0; i < b.slots.size(); ++i) {
    const Slot& s = b.slots[i];
    if (s.fixed != nullptr || s.root >= 0 || s.last < s.first) continue;
    box_of[i] = static_cast<int>(boxes.size());
    boxes.push_back({s.first, s.last, s.bytes, 0});
  }
  for (auto& wishes : b.joins) {
    std::erase_if(wishes, [&](const Inside& w) { return box_of[static_cast<size_t>(w.part)] < 0; });
    for (Inside& w : wishes) {
      w.part = box_of[static_cast<size_t>(w.part)];
      w.whole = box_of[static_cast<size_t>(w.whole)];
    }
    nest_boxes(boxes, wishes);
  }
  size_ = place_boxes(boxes);
  if (!arena) arena = reserve();
  size_t kept = 0;
  for (const Tensor& t : states) kept += t.bytes();
  for (const Value& v : program.values) kept += v.constant ? v.constant.bytes() : 0;
  if (size_.arena > memory_left() || kept > memory_left() - size_.arena) {
    fail(Code::refused, "this program needs ", size_.arena >> 20, " MiB for its values and ",
         kept >> 20, " MiB for its parameters; it may take ", memory_left() >> 20,
         " MiB. A smaller batch or smaller inputs need less");
  }
  arena_ = arena;
  auto* base = static_cast<std::byte*>(arena_.get());
  auto place = [&](int slot) -> void* {
    if (slot < 0) return nullptr;
    const int root = b.root(slot);
    const Slot& s = b.slots[static_cast<size_t>(root)];
    size_t offset = 0;  // in the memory of the root
    for (int part = slot; part != root; part = b.slots[static_cast<size_t>(part)].root)
      offset += b.slots[static_cast<size_t>(part)].offset;
    if (s.fixed != nullptr) return static_cast<std::byte*>(const_cast<void*>(s.fixed)) + offset;
    return base + boxes[static_cast<size_t>(box_of[static_cast<size_t>(root)])].offset + offset;
  };
  for (Pending& step : b.steps) {
    Entry entry;
    entry.about = std::move(step.about);
    if (step.reorder) {
      const Slot& from = b.slots[static_cast<size_t>(step.in[0])];
      const Slot& to = b.slots[static_cast<size_t>(step.out[0])];
      entry.run =
          device.reorder(from.spec, from.layout, place(step.in[0]), to.layout, place(step.out[0]));
    } else {
      Places places;
      for (int slot : step.in) places.in.push_back(place(slot));
      for (int slot : step.out) places.out.push_back(place(slot));
      places.scratch = place(step.scratch);
      const auto& joined = step.prepared.joined;
      bool there = !joined.empty();
      for (size_t i = 0; i < joined.size(); ++i)
        there = there && places.in[i] == static_cast<std::byte*>(places.out[0]) + joined[i];
      if (there) continue;
      entry.run = step.prepared.bind(places);
    }
    steps_.push_back(std::move(entry));
  }
  for (ValueId id : program.inputs) {
    inputs_.push_back({specs[static_cast<size_t>(id)], place(b.input(id))});
  }
  for (size_t i = 0; i < b.outputs.size(); ++i) {
    outputs_.push_back({specs[static_cast<size_t>(program.outputs[i])], place(b.outputs[i])});
  }
  for (size_t i = 0; i < b.next.size(); ++i) {
    keep_.push_back(states[i].owner());
    if (b.next[i] < 0) continue;
    const void* from = place(b.next[i]);
    void* to = const_cast<void*>(states[i].raw());
    if (from == to) continue;
    Entry entry;
    entry.about = {.op = "state", .shape = states[i].shape(), .how = "copy", .why = {}};
    entry.run = [from, to, bytes = states[i].bytes()] { std::memcpy(to, from, bytes); };
    steps_.push_back(std::move(entry));
  }
  for (const Value& v : program.values) {
    if (v.constant) keep_.push_back(v.constant.owner());
  }
}

void Plan::load(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(inputs_[i].place, inputs[i].raw(), inputs[i].bytes());
  }
}

void Plan::run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  load(inputs);
  for (const Entry& s : steps_) s.run();
  outputs.resize(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Port& port = outputs_[i];
    Tensor& t = outputs[i];
    const bool ours = t.owner().use_count() <= 1;  // else somebody keeps an earlier result
    if (!ours || t.spec() != port.spec) t = Tensor(port.spec.dtype, port.spec.shape);
    std::memcpy(t.raw(), port.place, t.bytes());
  }
}

std::vector<StepTime> Plan::profile(const std::vector<Tensor>& inputs, int runs) {
  using Clock = std::chrono::steady_clock;
  using Ms = std::chrono::duration<double, std::milli>;
  std::vector<StepTime> steps;
  for (const Entry& e : steps_) steps.push_back(e.about);
  std::vector<Clock::time_point> begins(steps_.size() + 1);
  Ms fastest = Ms::max();
  for (int r = 0; r < runs; ++r) {
    load(inputs);
    for (size_t i = 0; i < steps_.size(); ++i) {
      begins[i] = Clock::now();
      steps_[i].run();
    }
    begins.back() = Clock::now();
    const Ms whole = begins.back() - begins.front();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const double took = Ms(begins[i + 1] - begins[i]).count();
      steps[i].ms = r == 0 ? took : std::min(steps[i].ms, took);
      if (whole >= fastest) continue;
      steps[i].begin = Ms(begins[i] - begins.front()).count();
      steps[i].took = took;
    }
    fastest = std::min(fastest, whole);
  }
  return steps;
}

}  // namespace hub
