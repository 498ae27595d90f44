// attention(q, k, v, mask?, bias?) heads, scale: softmax(q · k' · scale + bias) · v for each head;
// q is [B, S, heads * D], k and v are [B, S_k, heads * D]. mask [B, S_k]: numbers equal to 0 are
// positions to ignore. bias: [B, heads, S, S_k], each of the first three may be 1. scale: 1 /
// sqrt(D) when not given.
#include "runtime/ops/attention.h"

#include <cmath>

#include "runtime/ops/gemm.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

/// The result as q, k, v and the mask say.
Spec infer_result(const Infer& infer) {
  const Spec& q = real_input(infer, 0, 3, 3);
  const Spec& k = real_input(infer, 1, 3, 3);
  const Spec& v = real_input(infer, 2, 3, 3);
  const int64_t heads = infer.attrs.i("heads");
  const bool fits = k.dtype == q.dtype && v.dtype == q.dtype && k.shape[0] == q.shape[0] &&
                    v.shape[0] == q.shape[0] && k.shape[2] == q.shape[2] &&
                    v.shape[1] == k.shape[1];
  if (!fits)
    fail(Code::refused, "queries ", q.str(), ", keys ", k.str(), " and values ", v.str(),
         " do not fit");
  if (heads < 1 || q.shape[2] % heads != 0 || v.shape[2] % heads != 0) {
    fail(Code::refused, heads, " heads of ", q.shape[2], " and ", v.shape[2], " features");
  }
  if (infer.has(3)) {
    check_type(infer, 3, Everything{});
    if (!(infer.in(3).shape == Shape{k.shape[0], k.shape[1]}))
      fail(Code::refused, "a mask of ", infer.in(3).str());
  }
  return {q.dtype, {q.shape[0], q.shape[1], v.shape[2]}};
}

std::vector<Spec> infer_attention(const Infer& infer) {
  const Spec result = infer_result(infer);
  if (infer.has(4)) {
    const Spec& bias = infer.in(4);
    const Shape& q = infer.in(0).shape;
    const Shape scores{q[0], infer.attrs.i("heads"), q[1], infer.in(1).shape[1]};
    bool right = bias.dtype == result.dtype && bias.shape.rank() == 4 && bias.shape[3] == scores[3];
    for (size_t d = 0; right && d < 3; ++d)
      right = bias.shape[d] == scores[d] || bias.shape[d] == 1;
    if (!right) fail(Code::refused, "a bias of ", bias.str(), " for scores of ", scores.str());
  }
  return {result};
}

/// Softmax of one line of scores; where keep is 0 the result is 0. With nothing to keep, all are 0.
template <class T>
void masked_softmax(T* line, const float* keep, int64_t count) {
  T most = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (keep == nullptr || keep[i] != 0) most = std::max(most, line[i]);
  }
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    line[i] = keep == nullptr || keep[i] != 0 ? std::exp(line[i] - most) : T{0};
    sum += line[i];
  }
  const T scale = sum > 0 ? 1 / sum : T{0};
  for (int64_t i = 0; i < count; ++i) line[i] *= scale;
}

template <class T>
void attention(const Call& call) {
  const Shape& q = call.x(0).shape();
  const Shape& v = call.x(2).shape();
  const int64_t heads = call.attrs.i("heads");
  const int64_t queries = q[1];
  const int64_t keys = v[1];
  const int64_t d = q[2] / heads;
  const int64_t e = v[2] / heads;
  const auto scale = static_cast<T>(call.attrs.f("scale", 1 / std::sqrt(static_cast<double>(d))));
  const auto mask = call.has(3) ? call.x(3).to_floats() : std::vector<float>{};
  const T* bias = call.has(4) ? call.x(4).data<T>() : nullptr;
  const BiasSteps steps = bias != nullptr ? BiasSteps(call.x(4).shape()) : BiasSteps();
  parallel(q[0] * heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> scores(static_cast<size_t>(queries * keys));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / heads;
      const int64_t h = i % heads;
      auto matrix = [&](size_t input, int64_t rows, int64_t width, bool transposed) {
        const T* data = call.x(input).data<T>() + b * rows * heads * width + h * width;
        return transposed ? Matrix<T>{data, 1, heads * width} : Matrix<T>{data, heads * width, 1};
      };
      gemm(queries, keys, d, matrix(0, queries, d, false), matrix(1, keys, d, true), scores.data(),
           keys);
      for (T& s : scores) s *= scale;
      for (int64_t r = 0; r < queries; ++r) {
        T* line = scores.data() + r * keys;
        const int64_t at = b * steps.sample + h * steps.head + r * steps.row;
        for (int64_t j = 0; bias != nullptr && j < keys; ++j) line[j] += bias[at + j];
        masked_softmax(line, mask.empty() ? nullptr : mask.data() + b * keys, keys);
      }
      T* y = call.y().data<T>() + b * queries * heads * e + h * e;
      gemm(queries, e, keys, Matrix<T>{scores.data(), keys, 1}, matrix(2, keys, e, false), y,
           heads * e);
    }
  });
}

void forward_attention(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { attention<T>(call); });
}

void grad(Grad& g) {
  if (g.has(4)) fail(Code::unsupported, "the gradient of attention with a bias is not written");
  const Vars d =
      apply(*find_op("attention_grad"), {g.x(0), g.x(1), g.x(2), g.x(3), g.dy()}, g.attrs, 3);
  for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
}

/// attention_grad(q, k, v, mask?, dy) -> dq, dk, dv; the probabilities are computed again.
std::vector<Spec> infer_grad(const Infer& infer) {
  need(infer, 4, infer_result(infer));
  return {infer.in(0), infer.in(1), infer.in(2)};
}

template <class T>
void attention_grad(const Call& call) {
  const Shape& q = call.x(0).shape();
  const Shape& v = call.x(2).shape();
  const int64_t heads = call.attrs.i("heads");
  const int64_t queries = q[1];
  const int64_t keys = v[1];
  const int64_t d = q[2] / heads;
  const int64_t e = v[2] / heads;
  const auto scale = static_cast<T>(call.attrs.f("scale", 1 / std::sqrt(static_cast<double>(d))));
  const auto mask = call.has(3) ? call.x(3).to_floats() : std::vector<float>{};
  parallel(q[0] * heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> p(static_cast<size_t>(queries * keys)), dp(p.size());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / heads;
      const int64_t h = i % heads;
      auto place = [&](int64_t rows, int64_t width) {
        return b * rows * heads * width + h * width;
      };
      auto matrix = [&](size_t input, int64_t rows, int64_t width, bool transposed) {
        const T* data = call.x(input).data<T>() + place(rows, width);
        return transposed ? Matrix<T>{data, 1, heads * width} : Matrix<T>{data, heads * width, 1};
      };
      auto into = [&](size_t output, int64_t rows, int64_t width) {
        return call.y(output).data<T>() + place(rows, width);
      };
      gemm(queries, keys, d, matrix(0, queries, d, false), matrix(1, keys, d, true), p.data(),
           keys);
      for (T& s : p) s *= scale;
      for (int64_t r = 0; r < queries; ++r) {
        masked_softmax(p.data() + r * keys, mask.empty() ? nullptr : mask.data() + b * keys, keys);
      }
      if (call.wants(2)) {
        gemm(keys, e, queries, Matrix<T>{p.data(), 1, keys}, matrix(4, queries, e, false),
             into(2, keys, e), heads * e);
      }
      gemm(queries, keys, e, matrix(4, queries, e, false), matrix(2, keys, e, true), dp.data(),
           keys);
      for (int64_t r = 0; r < queries; ++r) {
        const T* line = p.data() + r * keys;
        T* d_line = dp.data() + r * keys;
        T sum = 0;
        for (int64_t k = 0; k < keys; ++k) sum += line[k] * d_line[k];
        for (int64_t k = 0; k < keys; ++k) d_line[k] = scale * line[k] * (d_line[k] - sum);
      }
      if (call.wants(0)) {
        gemm(queries, d, keys, Matrix<T>{dp.data(), keys, 1}, matrix(1, keys, d, false),
             into(0, queries, d), heads * d);
      }
      if (call.wants(1)) {
        gemm(keys, d, queries, Matrix<T>{dp.data(), 1, keys}, matrix(0, queries, d, false),
             into(1, keys, d), heads * d);
      }
    }
  });
}

void forward_grad(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { attention_grad<T>(call); });
}

}  // namespace

extern const OpDef attention_op = {.name = "attention",
                                   .min_inputs = 3,
                                   .max_inputs = 5,
                                   .infer = infer_attention,
                                   .forward = widened<forward_attention>,
                                   .grad = grad,
                                   .settings = 0b1000};

extern const OpDef attention_grad_op = {
    .name = "attention_grad",
    .min_inputs = 5,
    .max_inputs = 5,
    .outputs = 3,
    .infer = infer_grad,
    .forward = widened<forward_grad>,
    .no_grad = "second derivatives of attention are not written",
    .settings = 0b1000};

}  // namespace hub
