#include "runtime/session.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
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

/// Memory for one run at a time, and the plans that lie in it.
struct Seat {
  struct Kept {
    std::vector<Spec> inputs;
    int team;                    ///< threads that its kernels have room for
    std::unique_ptr<Plan> plan;  ///< null: shapes depend on numbers, run in stages
  };
  std::shared_ptr<void> arena;
  std::list<Kept> plans;  ///< latest first
  bool busy = false;

  /// The plan for such inputs and the team of this thread, which is the latest from now on; or
  /// null.
  Kept* find(const std::vector<Tensor>& inputs) {
    const auto fits = [&](const Kept& k) {
      const auto same = [](const Spec& spec, const Tensor& t) { return spec == t.spec(); };
      return k.team == threads() && std::ranges::equal(k.inputs, inputs, same);
    };
    const auto it = std::ranges::find_if(plans, fits);
    if (it == plans.end()) return nullptr;
    plans.splice(plans.begin(), plans, it);
    return &plans.front();
  }
};

}  // namespace

struct Session::Impl {
  Program program;
  Device* device = nullptr;
  Packs packs;
  std::vector<Tensor> states;  ///< of program.states, in order
  mutable std::mutex mutex;    ///< over all below; a busy seat is its taker's
  std::condition_variable freed;
  std::list<Seat> seats;
  std::string pack_file;           ///< to be written with the first plan
  std::unique_ptr<Stages> stages;  ///< of a program whose shapes depend on numbers
  Memory latest;

  size_t most_seats() const {
    const auto changes = [](const State& s) { return s.next != absent; };
    if (std::ranges::any_of(program.states, changes)) return 1;
    return static_cast<size_t>(omp_get_num_procs());
  }

  /// A seat, for as long as this lives; best one with a plan for such inputs.
  class Turn {
   public:
    Turn(Impl& impl, const std::vector<Tensor>& inputs) : impl_(impl) {
      std::unique_lock lock(impl_.mutex);
      impl_.freed.wait(lock, [&] { return (seat_ = impl_.idle_seat(inputs)) != nullptr; });
      seat_->busy = true;
    }
    ~Turn() {
      {
        const std::lock_guard lock(impl_.mutex);
        seat_->busy = false;
      }
      impl_.freed.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Seat& seat() const { return *seat_; }

   private:
    Impl& impl_;
    Seat* seat_ = nullptr;
  };

  Seat* idle_seat(const std::vector<Tensor>& inputs) {
    Seat* idle = nullptr;
    for (Seat& s : seats) {
      if (s.busy) continue;
      if (s.find(inputs) != nullptr) return &s;
      if (idle == nullptr) idle = &s;
    }
    if (idle == nullptr && seats.size() < most_seats()) idle = &seats.emplace_back();
    return idle;
  }

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

  const Seat::Kept& plan_for(Seat& seat, const std::vector<Tensor>& inputs) {
    Seat::Kept* found = seat.find(inputs);
    if (found == nullptr) found = &make_plan(seat, inputs);
    const std::lock_guard lock(mutex);
    latest = {};
    if (found->plan) {
      const ArenaSize& size = found->plan->memory();
      latest = {.arena = size.arena, .live = size.live, .sum = size.sum};
    }
    return *found;
  }

  Seat::Kept& make_plan(Seat& seat, const std::vector<Tensor>& inputs) {
    calm_team();
    Seat::Kept kept{{}, threads(), nullptr};
    for (const Tensor& t : inputs) kept.inputs.push_back(t.spec());
    Program special = program;
    std::vector<Spec> all;
    if (specialize(special, kept.inputs, all)) {
      kept.plan = std::make_unique<Plan>(special, all, *device, packs, states, seat.arena);
    }
    seat.plans.push_front(std::move(kept));
    if (seat.plans.size() > max_plans) seat.plans.pop_back();
    std::string file;
    {
      const std::lock_guard lock(mutex);
      file.swap(pack_file);
    }
    if (!file.empty()) save_pack(file, program, *device, packs);
    return seat.plans.front();
  }

  Stages& in_stages() {
    const std::lock_guard lock(mutex);
    if (!stages) stages = std::make_unique<Stages>(program, std::string(device->name()));
    return *stages;
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
    in_stages().run(values);
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
  std::vector<Tensor> outputs;
  run(inputs, outputs);
  return outputs;
}

void Session::run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  impl_->check(inputs);
  const Impl::Turn turn(*impl_, inputs);
  in_memory([&] {
    const auto& kept = impl_->plan_for(turn.seat(), inputs);
    const FlushDenormals flush;
    if (kept.plan)
      kept.plan->run(inputs, outputs);
    else
      outputs = impl_->run_in_stages(inputs);
  });
}

Session::Memory Session::memory() const {
  const std::lock_guard lock(impl_->mutex);
  Memory m = impl_->latest;
  m.arenas = impl_->seats.size();
  m.packed = impl_->packs.bytes();
  return m;
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
  const Impl::Turn turn(*impl_, inputs);
  const auto& kept = impl_->plan_for(turn.seat(), inputs);
  const FlushDenormals flush;
  profile.stages = !kept.plan;
  if (kept.plan) profile.steps = kept.plan->profile(inputs, runs);
  for (const Value& v : impl_->program.values)
    profile.parameters += v.constant ? v.constant.bytes() : 0;
  profile.packed = impl_->packs.bytes();
  profile.peak = peak_flops();
  return profile;
}

}  // namespace hub
