// The loss of a linear-chain CRF (Lafferty, McCallum and Pereira, 2001), in log space:
//   crf_loss(emission [T, D], transition [D + 2, D], labels int64 [T], offsets) -> [sequences], the
//   negative log likelihood of the labels of each sequence
//   crf_loss_grad(the same, dy [sequences]) -> demission, dtransition
// Rows of the transition as in crf_decode. An empty sequence costs nothing.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

int64_t sequences(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 2, 2);
  if (x.shape[1] < 1) fail(Code::refused, "the emission is ", x.str(), "; [T, D] is wanted");
  need(infer, 1, {x.dtype, {x.shape[1] + 2, x.shape[1]}});
  need(infer, 2, {DType::i64, {x.shape[0]}});
  const Spec& offsets = infer.in(3);
  if (offsets.dtype != DType::i64 || offsets.shape.rank() != 1 || offsets.shape[0] < 1)
    fail(Code::refused, "the offsets are ", offsets.str(), "; int64[n] is wanted");
  return offsets.shape[0] - 1;
}

std::vector<Spec> infer_loss(const Infer& infer) {
  return {{infer.in(0).dtype, {sequences(infer)}}};
}

std::vector<Spec> infer_grad(const Infer& infer) {
  need(infer, 4, {infer.in(0).dtype, {sequences(infer)}});
  return {infer.in(0), infer.in(1)};
}

double log_sum(const double* v, size_t n) {
  const double most = *std::max_element(v, v + n);
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(v[i] - most);
  return most + std::log(sum);
}

/// Whether a sum of products of numbers up to 1 has lost nothing to underflow; else it is made
/// again from logarithms.
bool sound(double sum) { return sum > 1e-200; }

/// exp(pair - the largest of them) [D, D]: with it a step needs one exponential a tag, not a pair.
struct PairWeights {
  std::vector<double> values;
  double most = 0;
};

/// What is known of one sequence of at least one row; numbers in double.
template <class T>
struct Chain {
  const T* emission;
  const T* transition;
  const PairWeights& weights;
  const int64_t* labels;
  size_t count, tags;

  double start(size_t j) const { return static_cast<double>(transition[j]); }
  double stop(size_t j) const { return static_cast<double>(transition[tags + j]); }
  double pair(size_t i, size_t j) const {
    return static_cast<double>(transition[(2 + i) * tags + j]);
  }
  double emit(size_t t, size_t j) const { return static_cast<double>(emission[t * tags + j]); }
  size_t label(size_t t) const { return static_cast<size_t>(labels[t]); }

  /// The log of the summed weights of all paths that end at (t, j), and of all together.
  std::vector<double> forward(double& all) const {
    std::vector<double> a(count * tags), v(tags), sums(tags);
    for (size_t j = 0; j < tags; ++j) a[j] = start(j) + emit(0, j);
    for (size_t t = 1; t < count; ++t) {
      const double* before = a.data() + (t - 1) * tags;
      const double most = *std::max_element(before, before + tags);
      std::fill(sums.begin(), sums.end(), 0);
      for (size_t i = 0; i < tags; ++i) {
        const double p = std::exp(before[i] - most);
        for (size_t j = 0; j < tags; ++j) sums[j] += p * weights.values[i * tags + j];
      }
      for (size_t j = 0; j < tags; ++j) {
        double sum = most + weights.most + std::log(sums[j]);
        if (!sound(sums[j])) {
          for (size_t i = 0; i < tags; ++i) v[i] = before[i] + pair(i, j);
          sum = log_sum(v.data(), tags);
        }
        a[t * tags + j] = sum + emit(t, j);
      }
    }
    for (size_t j = 0; j < tags; ++j) v[j] = a[(count - 1) * tags + j] + stop(j);
    all = log_sum(v.data(), tags);
    return a;
  }

  /// The log of the summed weights of all that can come behind (t, j).
  std::vector<double> backward() const {
    std::vector<double> b(count * tags), v(tags), p(tags);
    for (size_t j = 0; j < tags; ++j) b[(count - 1) * tags + j] = stop(j);
    for (size_t t = count - 1; t-- > 0;) {
      const double most = behind(b, t + 1, p);
      for (size_t i = 0; i < tags; ++i) {
        double sum = 0;
        for (size_t j = 0; j < tags; ++j) sum += weights.values[i * tags + j] * p[j];
        if (sound(sum)) {
          b[t * tags + i] = most + weights.most + std::log(sum);
          continue;
        }
        for (size_t j = 0; j < tags; ++j)
          v[j] = pair(i, j) + emit(t + 1, j) + b[(t + 1) * tags + j];
        b[t * tags + i] = log_sum(v.data(), tags);
      }
    }
    return b;
  }

  /// p[j] = exp(emission + b of (t, j) - the largest of them, which is given back).
  double behind(const std::vector<double>& b, size_t t, std::vector<double>& p) const {
    for (size_t j = 0; j < tags; ++j) p[j] = emit(t, j) + b[t * tags + j];
    const double most = *std::max_element(p.begin(), p.end());
    for (double& x : p) x = std::exp(x - most);
    return most;
  }

  double loss() const {
    double all = 0;
    forward(all);
    double path = start(label(0)) + stop(label(count - 1));
    for (size_t t = 0; t < count; ++t) path += emit(t, label(t));
    for (size_t t = 1; t < count; ++t) path += pair(label(t - 1), label(t));
    return all - path;
  }

  /// Writes dy * d loss / d emission, adds dy * d loss / d transition.
  void gradient(double dy, T* demission, double* dtransition) const {
    double all = 0;
    const auto a = forward(all), b = backward();
    for (size_t t = 0; t < count; ++t) {
      for (size_t j = 0; j < tags; ++j) {
        const double p = std::exp(a[t * tags + j] + b[t * tags + j] - all);
        const double d = dy * (p - (label(t) == j ? 1 : 0));
        if (demission != nullptr) demission[t * tags + j] = static_cast<T>(d);
        if (t == 0) dtransition[j] += d;
        if (t + 1 == count) dtransition[tags + j] += d;
      }
    }
    std::vector<double> p(tags);
    for (size_t t = 1; t < count; ++t) {
      const double most = behind(b, t, p);
      for (size_t i = 0; i < tags; ++i) {
        const double before = a[(t - 1) * tags + i] - all;
        double* row = dtransition + (2 + i) * tags;
        // A larger factor could meet weights that have become 0.
        const double scale = before + most + weights.most;
        const double factor = scale < 400 ? std::exp(scale) : INFINITY;
        for (size_t j = 0; j < tags; ++j) {
          row[j] += dy * (factor < INFINITY
                              ? factor * weights.values[i * tags + j] * p[j]
                              : std::exp(before + pair(i, j) + emit(t, j) + b[t * tags + j]));
        }
      }
      dtransition[(2 + label(t - 1)) * tags + label(t)] -= dy;
    }
  }
};

/// Sequence s, which begins at row offsets[s].
template <class T>
Chain<T> chain_of(const Call& call, const PairWeights& weights, std::span<const int64_t> offsets,
                  int64_t s) {
  const int64_t tags = call.x(0).shape()[1];
  const int64_t first = offsets[static_cast<size_t>(s)];
  return {call.x(0).data<T>() + first * tags,
          call.x(1).data<T>(),
          weights,
          call.x(2).data<int64_t>() + first,
          static_cast<size_t>(offsets[static_cast<size_t>(s) + 1] - first),
          static_cast<size_t>(tags)};
}

std::span<const int64_t> checked(const Call& call) {
  const int64_t tags = call.x(0).shape()[1];
  for (int64_t label : call.x(2).values<int64_t>())
    if (label < 0 || label >= tags)
      fail(Code::refused, "the label ", label, " where there are ", tags, " tags");
  return checked_offsets(call.x(3), call.x(0).shape()[0]);
}

PairWeights pair_weights(const Tensor& transition) {
  PairWeights w{to_doubles(transition)};
  w.values.erase(w.values.begin(),
                 w.values.begin() + static_cast<std::ptrdiff_t>(2 * transition.shape()[1]));
  w.most = *std::max_element(w.values.begin(), w.values.end());
  for (double& x : w.values) x = std::exp(x - w.most);
  return w;
}

void forward_loss(const Call& call) {
  const auto offsets = checked(call);
  const auto weights = pair_weights(call.x(1));
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    parallel(call.y().numel(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const auto chain = chain_of<T>(call, weights, offsets, s);
        call.y().data<T>()[s] = static_cast<T>(chain.count == 0 ? 0 : chain.loss());
      }
    });
  });
}

void forward_grad(const Call& call) {
  const auto offsets = checked(call);
  const auto weights = pair_weights(call.x(1));
  const auto count = static_cast<int64_t>(offsets.size()) - 1;
  const auto size = static_cast<size_t>(call.x(1).numel());
  const auto dy = to_doubles(call.x(4));
  constexpr int64_t together = 16;  // sequences; their sums are added in order
  std::vector<double> total(size);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    for (int64_t first = 0; first < count; first += together) {
      const int64_t n = std::min(together, count - first);
      std::vector<double> parts(static_cast<size_t>(n) * size);
      parallel(n, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const auto chain = chain_of<T>(call, weights, offsets, first + k);
          if (chain.count == 0) continue;
          const int64_t at = offsets[static_cast<size_t>(first + k)] * call.x(0).shape()[1];
          chain.gradient(dy[static_cast<size_t>(first + k)],
                         call.wants(0) ? call.y().data<T>() + at : nullptr,
                         parts.data() + static_cast<size_t>(k) * size);
        }
      });
      for (size_t i = 0; i < parts.size(); ++i) total[i % size] += parts[i];
    }
    for (size_t i = 0; call.wants(1) && i < size; ++i)
      call.y(1).data<T>()[i] = static_cast<T>(total[i]);
  });
}

void grad_loss(Grad& g) {
  const Vars d = apply(*find_op("crf_loss_grad"), {g.x(0), g.x(1), g.x(2), g.x(3), g.dy()}, {}, 2);
  g.dx(0, d[0]);
  g.dx(1, d[1]);
}

}  // namespace

extern const std::vector<OpDef> crf_loss_ops = {
    {.name = "crf_loss",
     .min_inputs = 4,
     .max_inputs = 4,
     .infer = infer_loss,
     .forward = widened<forward_loss>,
     .grad = grad_loss},
    {.name = "crf_loss_grad",
     .min_inputs = 5,
     .max_inputs = 5,
     .outputs = 2,
     .infer = infer_grad,
     .forward = widened<forward_grad>,
     .no_grad = "second derivatives of crf_loss are not written"}};

}  // namespace hub
