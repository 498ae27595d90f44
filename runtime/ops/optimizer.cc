// Optimizer updates: operators whose outputs take the place of the states they read. All take
// (parameter, gradient, rate, scale, slots…): rate is the learning rate, scale what the gradient is
// multiplied by (clipping, accumulation). A scale that is not finite leaves everything as it was:
// a step with a NaN is not applied. Attributes: rate_factor (1), weight_decay (0; adam and lamb:
// decoupled when `decoupled` is 1).
//   sgd; momentum (slot v; momentum, nesterov): as torch.optim.SGD.
//   adam (m, v, step; beta1, beta2, epsilon): Kingma & Ba 2014, Loshchilov & Hutter 2017.
//   lamb (m, v, step): You et al. 2019. rmsprop (s; alpha, epsilon), adagrad (s; epsilon),
//   adadelta (s, d; rho, epsilon): as in torch.optim.
//   ema(average, value; decay); commit(old, new, scale): the new value, the old when scale is not
//   finite; square_sums(x…): the sum of squares of each, [n].
#include <cmath>

#include "runtime/ops/kernel.h"
#include "runtime/ops/optimizer_import.h"

namespace hub {
namespace {

using Reals = Types<float, double>;

void check_like_first(const Infer& in, size_t i) {
  if (in.in(i) != in.in(0))
    fail(Code::refused, "input ", i, " is ", in.in(i).str(), ", wanted ", in.in(0).str());
}
void check_number(const Infer& in, size_t i) {
  if (in.in(i).dtype != in.in(0).dtype || in.in(i).shape.numel() != 1)
    fail(Code::refused, "input ", i, " is ", in.in(i).str(), ", wanted one number of ",
         name_of(in.in(0).dtype));
}

/// Parameter, gradient, two numbers, then `slots` of the parameter's shape, then perhaps a step
/// count.
template <size_t slots, bool counted>
std::vector<Spec> infer_update(const Infer& in) {
  check_type(in, 0, Reals{});
  check_like_first(in, 1);
  check_number(in, 2);
  check_number(in, 3);
  for (size_t i = 0; i < slots; ++i) check_like_first(in, 4 + i);
  if (counted && (in.in(4 + slots).dtype != DType::i64 || in.in(4 + slots).shape.numel() != 1))
    fail(Code::refused, "the step is ", in.in(4 + slots).str(), ", wanted one int64");
  return std::vector<Spec>(1 + slots, in.in(0));
}

/// The operands of one update in the type T; slot i is read from `from` and written to `to`, which
/// may be the same memory.
template <class T, size_t slots>
struct Update {
  const T *p, *g;
  T* p_to;
  const T* from[slots + 1] = {};
  T* to[slots + 1] = {};
  int64_t n;
  T rate, scale, decay;

  explicit Update(const Call& call)
      : p(call.x(0).data<T>()),
        g(call.x(1).data<T>()),
        p_to(call.y(0).data<T>()),
        n(call.x(0).numel()),
        rate(*call.x(2).data<T>() * static_cast<T>(call.attrs.f("rate_factor", 1))),
        scale(*call.x(3).data<T>()),
        decay(static_cast<T>(call.attrs.f("weight_decay", 0))) {
    for (size_t i = 0; i < slots; ++i) {
      from[i] = call.x(4 + i).data<T>();
      to[i] = call.y(1 + i).data<T>();
    }
  }

  /// Whether the step is to be left out; then everything is as it was.
  bool skipped() const {
    if (std::isfinite(scale)) return false;
    std::copy_n(p, n, p_to);
    for (size_t i = 0; i < slots; ++i) std::copy_n(from[i], n, to[i]);
    return true;
  }

  /// step(p, g, slot values…) changes the slots and gives the new p.
  template <class F>
  void each(F step) const {
    if (skipped()) return;
    parallel(n, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T s[slots + 1];
        for (size_t k = 0; k < slots; ++k) s[k] = from[k][i];
        p_to[i] = step(p[i], g[i] * scale, s);
        for (size_t k = 0; k < slots; ++k) to[k][i] = s[k];
      }
    });
  }
};

void forward_sgd(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 0> u(call);
    u.each([&](T p, T g, T*) { return p - u.rate * (g + u.decay * p); });
  });
}

void forward_momentum(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 1> u(call);
    const T mu = static_cast<T>(call.attrs.f("momentum", 0.9));
    const bool nesterov = call.attrs.i("nesterov", 0) != 0;
    u.each([&](T p, T g, T* s) {
      g += u.decay * p;
      s[0] = mu * s[0] + g;
      return p - u.rate * (nesterov ? g + mu * s[0] : s[0]);
    });
  });
}

/// Adam's direction m' / (sqrt(v') + eps) with both corrected for their start at zero.
template <class T>
struct Adam {
  T beta1, beta2, epsilon, correct1, correct2;
  Adam(const Call& call, double default_epsilon)
      : beta1(static_cast<T>(call.attrs.f("beta1", 0.9))),
        beta2(static_cast<T>(call.attrs.f("beta2", 0.999))),
        epsilon(static_cast<T>(call.attrs.f("epsilon", default_epsilon))) {
    const auto step = static_cast<double>(*call.x(6).data<int64_t>());
    correct1 = static_cast<T>(1 / (1 - std::pow(call.attrs.f("beta1", 0.9), step)));
    correct2 = static_cast<T>(1 / std::sqrt(1 - std::pow(call.attrs.f("beta2", 0.999), step)));
  }
  T operator()(T g, T& m, T& v) const {
    m += (1 - beta1) * (g - m);
    v = beta2 * v + (1 - beta2) * g * g;
    return m * correct1 / (std::sqrt(v) * correct2 + epsilon);
  }
};

void forward_adam(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 2> u(call);
    const Adam<T> adam(call, 1e-8);
    if (call.attrs.i("decoupled", 0) != 0) {
      u.each([&](T p, T g, T* s) {
        const T shrunk = p - u.rate * u.decay * p;
        return shrunk - u.rate * adam(g, s[0], s[1]);
      });
    } else {
      u.each([&](T p, T g, T* s) { return p - u.rate * adam(g + u.decay * p, s[0], s[1]); });
    }
  });
}

void forward_lamb(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 2> u(call);
    if (u.skipped()) return;
    const Adam<T> adam(call, 1e-6);
    auto direction = [&](int64_t i, T& m, T& v) {
      m = u.from[0][i];
      v = u.from[1][i];
      return adam(u.g[i] * u.scale, m, v) + u.decay * u.p[i];
    };
    double size = 0, length = 0;
    for (int64_t i = 0; i < u.n; ++i) {
      T m, v;
      const double d = direction(i, m, v);
      size += double{u.p[i]} * u.p[i];
      length += d * d;
    }
    const bool both = size > 0 && length > 0;
    const T trust = both ? static_cast<T>(std::sqrt(size / length)) : T{1};
    parallel(u.n, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T m, v;
        const T d = direction(i, m, v);
        u.p_to[i] = u.p[i] - u.rate * trust * d;
        u.to[0][i] = m;
        u.to[1][i] = v;
      }
    });
  });
}

void forward_rmsprop(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 1> u(call);
    const T alpha = static_cast<T>(call.attrs.f("alpha", 0.99));
    const T epsilon = static_cast<T>(call.attrs.f("epsilon", 1e-8));
    u.each([&](T p, T g, T* s) {
      g += u.decay * p;
      s[0] = alpha * s[0] + (1 - alpha) * g * g;
      return p - u.rate * g / (std::sqrt(s[0]) + epsilon);
    });
  });
}

void forward_adagrad(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 1> u(call);
    const T epsilon = static_cast<T>(call.attrs.f("epsilon", 1e-10));
    u.each([&](T p, T g, T* s) {
      g += u.decay * p;
      s[0] += g * g;
      return p - u.rate * g / (std::sqrt(s[0]) + epsilon);
    });
  });
}

void forward_adadelta(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Update<T, 2> u(call);
    const T rho = static_cast<T>(call.attrs.f("rho", 0.9));
    const T epsilon = static_cast<T>(call.attrs.f("epsilon", 1e-6));
    u.each([&](T p, T g, T* s) {
      g += u.decay * p;
      s[0] = rho * s[0] + (1 - rho) * g * g;
      const T d = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
      s[1] = rho * s[1] + (1 - rho) * d * d;
      return p - u.rate * d;
    });
  });
}

std::vector<Spec> infer_ema(const Infer& in) {
  check_type(in, 0, Reals{});
  check_like_first(in, 1);
  return {in.in(0)};
}
void forward_ema(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T rest = static_cast<T>(1 - call.attrs.f("decay"));
    const T* average = call.x(0).data<T>();
    const T* value = call.x(1).data<T>();
    T* to = call.y().data<T>();
    parallel(call.x(0).numel(), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = average[i] + rest * (value[i] - average[i]);
    });
  });
}

std::vector<Spec> infer_commit(const Infer& in) {
  check_type(in, 0, Reals{});
  check_like_first(in, 1);
  check_number(in, 2);
  return {in.in(0)};
}
void forward_commit(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const Tensor& from = std::isfinite(*call.x(2).data<T>()) ? call.x(1) : call.x(0);
    if (from.raw() != call.y().raw()) std::copy_n(from.data<T>(), from.numel(), call.y().data<T>());
  });
}

std::vector<Spec> infer_square_sums(const Infer& in) {
  check_type(in, 0, Reals{});
  for (size_t i = 1; i < in.size(); ++i) check_same_type(in, 0, i);
  return {{in.in(0).dtype, {static_cast<int64_t>(in.size())}}};
}
void forward_square_sums(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    for (size_t k = 0; k < call.in.size(); ++k) {
      const T* x = call.x(k).data<T>();
      // Pieces of a fixed size: the sum does not depend on the number of threads.
      constexpr int64_t piece = 1 << 14;
      const int64_t n = call.x(k).numel();
      std::vector<double> sums(static_cast<size_t>((n + piece - 1) / piece));
      parallel(static_cast<int64_t>(sums.size()), 2, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          double lanes[8] = {};
          const int64_t stop = std::min(n, (p + 1) * piece);
          int64_t i = p * piece;
          for (; i + 8 <= stop; i += 8) {
            for (int64_t l = 0; l < 8; ++l) lanes[l] += double{x[i + l]} * x[i + l];
          }
          for (; i < stop; ++i) lanes[0] += double{x[i]} * x[i];
          for (double lane : lanes) sums[static_cast<size_t>(p)] += lane;
        }
      });
      double sum = 0;
      for (double s : sums) sum += s;
      call.y().data<T>()[k] = static_cast<T>(sum);
    }
  });
}

constexpr std::string_view why = "an update of states is not differentiated";

template <size_t slots, bool counted>
OpDef update(std::string_view name, void (*forward)(const Call&),
             std::vector<Import> imports = {}) {
  constexpr int inputs = 4 + static_cast<int>(slots) + (counted ? 1 : 0);
  return {.name = name,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .outputs = 1 + static_cast<int>(slots),
          .infer = infer_update<slots, counted>,
          .forward = forward,
          .no_grad = why,
          .in_place = slots == 0   ? std::vector{0}
                      : slots == 1 ? std::vector{0, 4}
                                   : std::vector{0, 4, 5},
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> optimizer_ops = {
    update<0, false>("sgd", forward_sgd),
    update<1, false>("momentum", forward_momentum,
                     {{"ai.onnx.preview.training:Momentum", onnx_momentum}}),
    update<2, true>("adam", forward_adam, {{"ai.onnx.preview.training:Adam", onnx_adam}}),
    update<2, true>("lamb", forward_lamb),
    update<1, false>("rmsprop", forward_rmsprop),
    update<1, false>("adagrad", forward_adagrad,
                     {{"ai.onnx.preview.training:Adagrad", onnx_adagrad}}),
    update<2, false>("adadelta", forward_adadelta),
    {.name = "ema",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_ema,
     .forward = forward_ema,
     .no_grad = why,
     .in_place = {0}},
    {.name = "commit",
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = infer_commit,
     .forward = forward_commit,
     .no_grad = why,
     .in_place = {0}},
    {.name = "square_sums",
     .max_inputs = -1,
     .infer = infer_square_sums,
     .forward = forward_square_sums,
     .no_grad = "it is of use to an optimizer only"},
};

}  // namespace hub
