// Rows that only compare devices: gradients and training operators in shapes that fill more than
// one block of channels, or half a one, and run on several threads.
#include <cmath>

#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

using ints = std::vector<int64_t>;

Tensor one(float value) { return Tensor::floats({1}, {value}); }
/// Numbers in (0.5, 1.5).
Tensor positive(const Shape& shape, uint32_t seed) {
  Tensor t = noise(shape, seed);
  for (int64_t k = 0; k < t.numel(); ++k) t.data<float>()[k] = t.data<float>()[k] / 2 + 1;
  return t;
}
/// Numbers in (-6, 6).
Tensor broad(const Shape& shape, uint32_t seed) {
  Tensor t = noise(shape, seed);
  for (int64_t k = 0; k < t.numel(); ++k) t.data<float>()[k] *= 6;
  return t;
}

void convolutions(std::vector<OpCase>& rows) {
  struct Row {
    Shape x, w, y;
    Attrs attrs;
  };
  const std::vector<Row> forms = {
      {{2, 40, 9, 10}, {24, 40, 3, 3}, {2, 24, 9, 10}, {{"pads", ints{1, 1, 1, 1}}}},
      {{2, 33, 9, 10},
       {21, 33, 3, 3},
       {2, 21, 5, 5},
       {{"pads", ints{1, 1, 1, 1}}, {"strides", ints{2, 2}}}},
      {{1, 64, 7, 7}, {48, 64, 1, 1}, {1, 48, 4, 4}, {{"strides", ints{2, 2}}}},
      {{2, 36, 8, 8},
       {36, 1, 3, 3},
       {2, 36, 8, 8},
       {{"group", int64_t{36}}, {"pads", ints{1, 1, 1, 1}}}},
      {{2, 32, 9, 9},
       {32, 1, 5, 5},
       {2, 32, 5, 5},
       {{"group", int64_t{32}}, {"auto_pad", "same_upper"}, {"strides", ints{2, 2}}}},
      {{2, 32, 6, 6}, {48, 16, 3, 3}, {2, 48, 4, 4}, {{"group", int64_t{2}}}},
      {{2, 3, 15, 15},
       {32, 3, 7, 7},
       {2, 32, 8, 8},
       {{"pads", ints{3, 3, 3, 3}}, {"strides", ints{2, 2}}}},
      {{1, 20, 11}, {18, 20, 3}, {1, 18, 7}, {{"dilations", ints{2}}}},
  };
  for (const Row& r : forms) {
    rows.push_back({"conv_input_grad", r.attrs, {noise(r.y, 3), noise(r.w, 2), noise(r.x, 1)}, {}});
    rows.push_back({"conv_weight_grad",
                    r.attrs,
                    {noise(r.x, 1), noise(r.y, 3), noise(r.w, 2)},
                    {Tensor(), Tensor()}});
  }
  const Attrs doubled = {{"strides", ints{2, 2}}};
  const Shape x{2, 24, 5, 6}, w{24, 20, 3, 3}, y{2, 20, 11, 13};
  rows.push_back(
      {"conv_transpose_input_grad", doubled, {noise(y, 3), noise(w, 2), noise(x, 1)}, {}});
  rows.push_back({"conv_transpose_weight_grad",
                  doubled,
                  {noise(x, 1), noise(y, 3), noise(w, 2)},
                  {Tensor(), Tensor()}});
}

void norms(std::vector<OpCase>& rows) {
  const std::vector<Tensor> five(5);
  const std::vector<Tensor> three(3);
  for (const Shape& x :
       {Shape{2, 40, 9, 7}, Shape{3, 32, 33}, Shape{1, 17, 5, 5}, Shape{4, 64, 12, 12}}) {
    const Shape c{x[1]};
    const Tensor scale = noise(c, 2), bias = noise(c, 3), mean = noise(c, 4),
                 variance = positive(c, 5);
    rows.push_back({"batch_norm_train", {}, {noise(x, 1), scale, bias, mean, variance}, five});
    rows.push_back(
        {"batch_norm_grad", {}, {noise(x, 1), noise(x, 6), scale, mean, variance}, three});
    for (const double high : {6.0, HUGE_VAL}) {
      const Attrs held = {{"low", 0.0}, {"high", high}, {"epsilon", 1e-3}};
      rows.push_back(
          {"batch_norm_train_held", held, {noise(x, 1), scale, bias, mean, variance}, five});
      rows.push_back({"batch_norm_train_held",
                      held,
                      {noise(x, 1), scale, bias, mean, variance, noise(x, 7)},
                      five});
      rows.push_back({"batch_norm_again", held, {noise(x, 1), scale, bias, mean, variance}, {}});
      rows.push_back({"batch_norm_grad_held",
                      held,
                      {noise(x, 1), noise(x, 6), scale, bias, mean, variance},
                      three});
    }
  }
  // A mean far from zero must not cost the digits of the variance.
  Tensor far = noise({2, 16, 8, 8}, 1);
  for (int64_t k = 0; k < far.numel(); ++k) far.data<float>()[k] += 100;
  const Shape c{16};
  rows.push_back(
      {"batch_norm_train", {}, {far, noise(c, 2), noise(c, 3), noise(c, 4), positive(c, 5)}, five});
  for (const Shape& x : {Shape{130, 48}, Shape{3, 5, 20}, Shape{2, 70, 384}}) {
    const Shape width{x.back()};
    rows.push_back({"layer_norm_grad",
                    {{"axis", int64_t{-1}}},
                    {noise(x, 1), noise(x, 2), noise(width, 3), noise(width, 4)},
                    three});
    rows.push_back({"layer_norm_grad", {{"axis", int64_t{-1}}}, {noise(x, 1), noise(x, 2)}, {}});
    rows.push_back({"softmax_grad", {{"axis", int64_t{-1}}}, {noise(x, 1), noise(x, 2)}, {}});
    rows.push_back({"sum_to", {}, {noise(x, 1), noise(width, 2)}, {}});
  }
}

void pools(std::vector<OpCase>& rows) {
  const Shape x{2, 24, 11, 12};
  const auto row = [&](const Attrs& attrs, const Shape& y) {
    rows.push_back({"pool_grad", attrs, {noise(x, 1), noise(y, 2)}, {}});
  };
  for (const char* kind : {"max", "avg"}) {
    row({{"kind", kind},
         {"kernel", ints{3, 3}},
         {"strides", ints{2, 2}},
         {"pads", ints{1, 1, 1, 1}}},
        {2, 24, 6, 6});
    row({{"kind", kind}, {"kernel", ints{2, 3}}, {"strides", ints{1, 2}}}, {2, 24, 10, 5});
    row({{"kind", kind}, {"global", int64_t{1}}}, {2, 24, 1, 1});
  }
  row({{"kind", "avg"},
       {"kernel", ints{3, 3}},
       {"pads", ints{1, 1, 1, 1}},
       {"count_include_pad", int64_t{1}}},
      {2, 24, 11, 12});
  // Many equal numbers: the first one gets the gradient.
  Tensor equal = noise(x, 1);
  for (int64_t k = 0; k < equal.numel(); ++k)
    equal.data<float>()[k] = std::round(equal.data<float>()[k]);
  rows.push_back({"pool_grad",
                  {{"kind", "max"}, {"kernel", ints{3, 3}}, {"strides", ints{2, 2}}},
                  {equal, noise({2, 24, 5, 5}, 2)},
                  {}});
}

void elementwise(std::vector<OpCase>& rows) {
  for (const Shape& x : {Shape{2, 20, 5, 7}, Shape{3, 40, 30, 30}, Shape{33}}) {
    for (const char* op : {"relu_grad", "sigmoid_grad", "tanh_grad", "leaky_relu_grad", "gelu_grad",
                           "hard_swish_grad", "hard_sigmoid_grad", "swish_grad"})
      rows.push_back({op, {}, {broad(x, 1), noise(x, 2)}, {}});
    rows.push_back({"clip_grad", {}, {broad(x, 1), noise(x, 2), f(0), f(6)}, {}});
    rows.push_back({"gelu", {}, {broad(x, 1)}, {}});
  }
}

void attentions(std::vector<OpCase>& rows) {
  const Attrs heads = {{"heads", int64_t{3}}};
  const Shape x{2, 10, 24};
  Tensor mask(DType::i64, {2, 10});
  for (int64_t k = 0; k < 20; ++k) mask.data<int64_t>()[k] = k < 17 ? 1 : 0;
  for (const Tensor& m : {Tensor(), mask}) {
    rows.push_back({"attention_grad",
                    heads,
                    {noise(x, 1), noise(x, 2), noise(x, 3), m, noise(x, 4)},
                    {Tensor(), Tensor(), Tensor()}});
  }
}

void updates(std::vector<OpCase>& rows) {
  const Shape x{37, 61};
  for (const float scale : {0.5F, NAN}) {
    const std::vector<Tensor> in{noise(x, 1), noise(x, 2), one(0.1F), one(scale)};
    const auto with = [&](std::initializer_list<Tensor> more) {
      std::vector<Tensor> all = in;
      all.insert(all.end(), more);
      return all;
    };
    rows.push_back({"sgd", {{"weight_decay", 0.1}}, in, {}});
    for (const int64_t nesterov : {0, 1}) {
      rows.push_back({"momentum",
                      {{"nesterov", nesterov}, {"weight_decay", 0.1}},
                      with({noise(x, 3)}),
                      {Tensor(), Tensor()}});
      rows.push_back({"adam",
                      {{"decoupled", nesterov}, {"weight_decay", 0.1}},
                      with({noise(x, 3), positive(x, 4), i({3})}),
                      {Tensor(), Tensor(), Tensor()}});
    }
  }
}

}  // namespace

std::vector<OpCase> training_cases() {
  std::vector<OpCase> rows;
  convolutions(rows);
  norms(rows);
  pools(rows);
  elementwise(rows);
  attentions(rows);
  updates(rows);
  return rows;
}

}  // namespace hub
