#include "runtime/stages.h"

#include "base/error.h"
#include "runtime/passes/passes.h"
#include "runtime/session.h"

namespace hub {
namespace {

/// Stages kept for each step of a run, as many as a session keeps plans.
constexpr size_t most_kept = 8;
/// Fewer elements than this are made sooner by the reference kernels than by a plan.
constexpr int64_t worth_a_plan = 2048;

bool has_inputs(const OpCall& call, const std::vector<char>& there) {
  for (ValueId id : call.in)
    if (id != absent && there[static_cast<size_t>(id)] == 0) return false;
  return true;
}

}  // namespace

Stages::Stages(const Program& program, std::string device)
    : p_(program), device_(std::move(device)), blocks_(device_) {}
Stages::~Stages() = default;

void Stages::run(std::vector<Tensor>& values) {
  std::vector<char> there(values.size());
  for (size_t i = 0; i < values.size(); ++i) there[i] = values[i] ? 1 : 0;
  std::vector<char> done(p_.ops.size());
  size_t left = p_.ops.size();
  const auto finish = [&](size_t c) {
    done[c] = 1;
    --left;
    for (ValueId id : p_.ops[c].out)
      if (id != absent) there[static_cast<size_t>(id)] = values[static_cast<size_t>(id)] ? 1 : 0;
  };
  const RunBlock run_block = blocks_.runner();
  for (size_t index = 0; left > 0; ++index) {
    const std::shared_ptr<const Stage> held = next(index, done, there, values);
    const Stage& stage = *held;
    if (stage.session) {
      std::vector<Tensor> in;
      for (ValueId id : stage.in) in.push_back(values[static_cast<size_t>(id)]);
      auto out = stage.session->run(in);
      for (size_t k = 0; k < out.size(); ++k)
        values[static_cast<size_t>(stage.out[k])] = std::move(out[k]);
      for (size_t c : stage.planned) finish(c);
    }
    for (size_t c : stage.single) {
      run_call(p_.ops[c], values, run_block);
      finish(c);
    }
  }
}

std::shared_ptr<const Stages::Stage> Stages::next(size_t index, const std::vector<char>& done,
                                                  const std::vector<char>& there,
                                                  const std::vector<Tensor>& values) {
  const std::lock_guard lock(mutex_);
  if (index >= stages_.size()) stages_.resize(index + 1);
  auto& kept = stages_[index];
  const auto fits = [&](const Stage& s) {
    if (s.there != there) return false;
    size_t k = 0;
    for (size_t i = 0; i < values.size(); ++i)
      if (there[i] != 0 && values[i].spec() != s.specs[k++]) return false;
    return true;
  };
  for (auto it = kept.begin(); it != kept.end(); ++it) {
    if (!fits(**it)) continue;
    kept.splice(kept.begin(), kept, it);
    return kept.front();
  }
  kept.push_front(std::make_shared<Stage>(make(done, there, values)));
  if (kept.size() > most_kept) kept.pop_back();
  return kept.front();
}

Stages::Stage Stages::make(const std::vector<char>& done, const std::vector<char>& there,
                           const std::vector<Tensor>& values) {
  Stage stage;
  stage.there = there;
  Program rest = p_;
  std::vector<Spec> specs(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (there[i] == 0) continue;
    specs[i] = values[i].spec();
    stage.specs.push_back(specs[i]);
  }
  std::vector<size_t> index;
  rest.ops.clear();
  for (size_t c = 0; c < p_.ops.size(); ++c) {
    if (done[c] != 0) continue;
    rest.ops.push_back(p_.ops[c]);
    index.push_back(c);
  }
  const auto fate = infer_calls(rest, specs);
  int64_t produced = 0;
  for (size_t k = 0; k < fate.size(); ++k) {
    if (fate[k] == Fate::unknown) continue;
    stage.planned.push_back(index[k]);
    for (ValueId id : rest.ops[k].out)
      if (id != absent) produced += specs[static_cast<size_t>(id)].shape.numel();
  }
  auto known = there;
  for (size_t c : stage.planned)
    for (ValueId id : p_.ops[c].out)
      if (id != absent) known[static_cast<size_t>(id)] = 1;
  const bool plan = produced >= worth_a_plan;
  for (size_t k = 0; k < fate.size(); ++k) {
    const bool runs = fate[k] == Fate::unknown ? has_inputs(rest.ops[k], known) : !plan;
    if (runs) stage.single.push_back(index[k]);
  }
  if (plan) add_session(stage, done);
  return stage;
}

void Stages::add_session(Stage& stage, const std::vector<char>& done) {
  std::vector<char> here(p_.ops.size());
  for (size_t c : stage.planned) here[c] = 1;
  std::vector<char> read(p_.values.size()), wanted(p_.values.size()), made(p_.values.size());
  for (size_t c = 0; c < p_.ops.size(); ++c) {
    if (done[c] != 0) continue;
    for (ValueId id : p_.ops[c].in)
      if (id != absent) (here[c] != 0 ? read : wanted)[static_cast<size_t>(id)] = 1;
    for (ValueId id : p_.ops[c].out)
      if (id != absent && here[c] != 0) made[static_cast<size_t>(id)] = 1;
  }
  for (ValueId id : p_.outputs) wanted[static_cast<size_t>(id)] = 1;
  for (const State& s : p_.states)
    if (s.next != absent) wanted[static_cast<size_t>(s.next)] = 1;
  for (size_t i = 0; i < p_.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (read[i] != 0 && made[i] == 0 && !p_[id].constant) stage.in.push_back(id);
    if (made[i] != 0 && wanted[i] != 0) stage.out.push_back(id);
  }
  auto& session = sessions_[stage.planned];
  if (!session) {
    Program part = p_;
    part.ops.clear();
    for (size_t c : stage.planned) part.ops.push_back(p_.ops[c]);
    part.inputs = stage.in;
    part.outputs = stage.out;
    part.states.clear();
    for (Value& v : part.values) v.declared = {};
    session = std::make_shared<Session>(
        std::move(part), SessionOptions{.device = device_, .pack_file = {}, .states = {}});
  }
  stage.session = session;
}

}  // namespace hub
