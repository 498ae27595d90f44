#include "runtime/session.h"

#include <immintrin.h>
#include <omp.h>

#include <chrono>
#include <cstring>
#include <list>
#include <mutex>

#include "base/error.h"
#include "base/text.h"
#include "runtime/budget.h"
#include "runtime/burn.h"
#include "runtime/device/device.h"
#include "runtime/op.h"
#include "runtime/pack.h"
#include "runtime/passes/passes.h"
#include "runtime/plan.h"
#include "runtime/stages.h"
#include "runtime/team.h"

namespace hub {
namespace {

/// Plans kept at a time: one a set of input shapes, the least recently used goes first.
constexpr size_t max_plans = 8;

/// Denormal numbers cost a hundred times a normal one and change no answer: zero in this thread
/// team, while alive. Inside another one there is nothing to do: a round of a loop must not wait
/// for the team.
class FlushDenormals {
 public:
  FlushDenormals() : before_(_mm_getcsr()) {
    if (!inner()) set(before_ | flushed);
  }
  ~FlushDenormals() {
    if (!inner()) set(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned flushed = 0x8040;
  bool inner() const { return (before_ & flushed) == flushed; }
  static void set(unsigned csr) {
#pragma omp parallel
    _mm_setcsr(csr);
  }
  unsigned before_;
};

}  // namespace

struct Session::Impl {
  Program program;
  std::string device_name;
  std::string pack_file;
  Device* device = nullptr;
  Packs packs;
  std::shared_ptr<void> arena;
  std::vector<Tensor> states;    ///< of program.states, in order
  std::optional<Stages> stages;  ///< of a program whose shapes depend on numbers
  std::mutex mutex;
  struct Kept {
    std::vector<Spec> inputs;
    std::unique_ptr<Plan> plan;  ///< null: shapes depend on numbers, run in stages
  };
  std::list<Kept> plans;  ///< latest first

  void check(const std::vector<Tensor>& inputs) const {
    if (inputs.size() != program.inputs.size()) {
      fail(Code::usage, "the network takes ", program.inputs.size(), " inputs; ", inputs.size(),
           " were given");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& v = program[program.inputs[i]];
      const Spec& want = v.declared;
      const Spec got = inputs[i].spec();
      bool fits = want.dtype == DType::none || want.dtype == got.dtype;
      if (want.dtype != DType::none) {
        fits = fits && want.shape.rank() == got.shape.rank();
        for (size_t d = 0; fits && d < got.shape.rank(); ++d) {
          fits = want.shape[d] < 0 || want.shape[d] == got.shape[d];
        }
      }
      if (!fits) {
        fail(Code::usage, "input '", v.name, "' is ", got.str(), "; ", want.str(), " is wanted");
      }
    }
  }

  Kept& plan_for(const std::vector<Tensor>& inputs) {
    std::vector<Spec> specs;
    for (const Tensor& t : inputs) specs.push_back(t.spec());
    for (auto it = plans.begin(); it != plans.end(); ++it) {
      if (it->inputs == specs) {
        plans.splice(plans.begin(), plans, it);
        return plans.front();
      }
    }
    calm_team();
    Kept kept{specs, nullptr};
    Program special = program;
    std::vector<Spec> all;
    if (specialize(special, specs, all)) {
      kept.plan = std::make_unique<Plan>(special, all, *device, packs, states, arena);
    }
    plans.push_front(std::move(kept));
    if (plans.size() > max_plans) plans.pop_back();
    if (!pack_file.empty()) {
      save_pack(pack_file, program, *device, packs);
      pack_file.clear();
    }
    return plans.front();
  }

  /// Shapes are inferred from the numbers as they come.
  std::vector<Tensor> run_in_stages(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values(program.values.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[static_cast<size_t>(program.inputs[i])] = inputs[i];
    }
    for (size_t i = 0; i < program.values.size(); ++i) {
      if (program.values[i].constant) values[i] = program.values[i].constant;
    }
    for (size_t i = 0; i < states.size(); ++i) {
      values[static_cast<size_t>(program.states[i].value)] = states[i];
    }
    if (!stages) stages.emplace(program, std::string(device->name()));
    stages->run(values);
    std::vector<Tensor> out;
    for (ValueId id : program.outputs) out.push_back(values[static_cast<size_t>(id)]);
    for (size_t i = 0; i < states.size(); ++i) {
      if (program.states[i].next == absent) continue;
      const Tensor& next = values[static_cast<size_t>(program.states[i].next)];
      std::memcpy(states[i].raw(), next.raw(), next.bytes());
    }
    return out;
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

Session::Session(Program program, SessionOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->device = &open_device(options.device);
  program.check();
  in_memory([&] { optimize(program); });
  for (const State& s : program.states) {
    const Value& v = program[s.value];
    const bool there = options.states && options.states->contains(v.name);
    if (!there) fail(Code::usage, "state '", v.name, "' has no numbers");
    const Tensor& t = options.states->find(v.name)->second;
    if (t.spec() != v.declared)
      fail(Code::usage, "state '", v.name, "' is ", t.spec().str(), "; ", v.declared.str(),
           " is wanted");
    impl_->states.push_back(t);
  }
  impl_->program = std::move(program);
  impl_->pack_file = std::move(options.pack_file);
}

std::unique_ptr<Session> Session::load(const SessionOptions& options) {
  if (options.pack_file.empty()) return nullptr;
  auto impl = std::make_unique<Impl>();
  impl->device = &open_device(options.device);
  auto program = load_pack(options.pack_file, *impl->device, impl->packs);
  if (!program) return nullptr;
  impl->program = std::move(*program);
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const Program& Session::program() const { return impl_->program; }

size_t Session::input_index(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < impl_->program.inputs.size(); ++i) {
    names.push_back(impl_->program[impl_->program.inputs[i]].name);
    if (names.back() == name) return i;
  }
  fail(Code::usage, "there is no input '", name, "'; wanted ", one_of(names));
}

std::vector<Tensor> Session::run(const std::vector<Tensor>& inputs) {
  impl_->check(inputs);
  const std::lock_guard lock(impl_->mutex);
  return in_memory([&] {
    const auto& kept = impl_->plan_for(inputs);
    const FlushDenormals flush;
    return kept.plan ? kept.plan->run(inputs) : impl_->run_in_stages(inputs);
  });
}

Session::Memory Session::memory() const {
  if (impl_->plans.empty() || !impl_->plans.front().plan) return {};
  const ArenaSize& s = impl_->plans.front().plan->memory();
  return {s.arena, s.live, s.sum};
}

Profile Session::profile(const std::vector<Tensor>& inputs, int runs) {
  using Clock = std::chrono::steady_clock;
  Profile profile;
  run(inputs);
  for (int r = 0; r < runs; ++r) {
    const auto start = Clock::now();
    run(inputs);
    profile.runs.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  const std::lock_guard lock(impl_->mutex);
  const auto& kept = impl_->plan_for(inputs);
  const FlushDenormals flush;
  profile.stages = !kept.plan;
  if (kept.plan) profile.steps = kept.plan->profile(inputs, runs);
  for (const Value& v : impl_->program.values)
    profile.parameters += v.constant ? v.constant.bytes() : 0;
  profile.packed = impl_->packs.bytes();
  profile.peak = peak_flops();
  return profile;
}

void set_threads(int threads) { omp_set_num_threads(threads > 0 ? threads : omp_get_num_procs()); }
int threads() { return omp_get_max_threads(); }

}  // namespace hub
