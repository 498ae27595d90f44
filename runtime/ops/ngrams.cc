// ngrams(x): how often each of the n-grams of a pool is found in a row of x, [n] or [rows, n]
// integers or strings. The pool lies in `pool_int64s` or `pool_strings`, all of length 1 first,
// then of length 2 and so on; `ngram_counts` says where each length begins, `ngram_indexes` where
// in the result each is counted. Items of an n-gram may lie up to `max_skip_count` others apart.
// `mode` is TF (counts), IDF (`weights` of what is there) or TFIDF (their product).
#include <map>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

struct Sizes {
  int64_t shortest, longest, skips, width;

  explicit Sizes(const Attrs& attrs)
      : shortest(attrs.i("min_gram_length")),
        longest(attrs.i("max_gram_length")),
        skips(attrs.i("max_skip_count")),
        width(0) {
    if (shortest < 1 || longest < shortest || skips < 0)
      fail(Code::refused, "n-grams of ", shortest, " to ", longest, " with ", skips, " skipped");
    for (int64_t i : attrs.ints("ngram_indexes")) {
      if (i < 0 || i == INT64_MAX) fail(Code::refused, "n-gram index ", i);
      width = std::max(width, i + 1);
    }
  }
};

bool of_strings(const Attrs& attrs) { return attrs.has("pool_strings"); }

std::vector<Spec> infer_ngrams(const Infer& in) {
  if (of_strings(in.attrs))
    check_type(in, 0, Types<std::string>{});
  else
    check_type(in, 0, Types<int32_t, int64_t>{});
  const auto mode = in.attrs.s("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    fail(Code::unsupported, "mode '", mode, "'");
  Shape shape = in.in(0).shape;
  if (shape.rank() < 1 || shape.rank() > 2)
    fail(Code::refused, "input 0 is ", in.in(0).str(), ", [n] or [rows, n] is wanted");
  shape[shape.rank() - 1] = Sizes(in.attrs).width;
  return {{DType::f32, shape}};
}

/// The number of each n-gram in the pool.
template <class T>
using Pool = std::map<std::vector<T>, size_t>;

template <class T>
Pool<T> pool_of(const Attrs& attrs, const std::vector<T>& items, size_t wanted) {
  const auto begins = attrs.ints("ngram_counts");
  Pool<T> pool;
  for (size_t k = 0, id = 0; k < begins.size(); ++k) {
    const size_t length = k + 1;
    const int64_t end = k + 1 < begins.size() ? begins[k + 1] : static_cast<int64_t>(items.size());
    if (begins[k] < 0 || end < begins[k] || end > static_cast<int64_t>(items.size()) ||
        (end - begins[k]) % static_cast<int64_t>(length) != 0)
      fail(Code::refused, "ngram_counts: n-grams of ", length, " lie from ", begins[k], " to ", end,
           " of a pool of ", items.size());
    for (auto at = items.begin() + begins[k]; at != items.begin() + end;
         at += static_cast<std::ptrdiff_t>(length)) {
      if (id == wanted)
        fail(Code::refused, "there are ", wanted, " ngram_indexes and more n-grams");
      pool.try_emplace(std::vector<T>(at, at + static_cast<std::ptrdiff_t>(length)), id++);
    }
  }
  return pool;
}

/// Calls found(number) for each n-gram of the pool in a row.
template <class T, class F>
void each_ngram(const std::vector<T>& row, const Sizes& sizes, const Pool<T>& pool, F found) {
  const auto n = static_cast<int64_t>(row.size());
  for (int64_t length = sizes.shortest; length <= std::min(sizes.longest, n); ++length) {
    for (int64_t step = 1; step - 1 <= (length == 1 ? 0 : sizes.skips); ++step) {
      if (length > 1 && step > (n - 1) / (length - 1)) break;
      for (int64_t at = 0; at + (length - 1) * step < n; ++at) {
        std::vector<T> gram;
        for (int64_t k = 0; k < length; ++k)
          gram.push_back(row[static_cast<size_t>(at + k * step)]);
        if (const auto it = pool.find(gram); it != pool.end()) found(it->second);
      }
    }
  }
}

template <class T>
void count(const Call& call, const std::vector<T>& items, const std::vector<T>& pool_items) {
  const auto places = call.attrs.ints("ngram_indexes");
  const auto weights = call.attrs.floats("weights");
  if (!weights.empty() && weights.size() != places.size())
    fail(Code::refused, weights.size(), " weights of ", places.size(), " n-grams");
  const auto mode = call.attrs.s("mode");
  const Sizes sizes(call.attrs);
  const auto pool = pool_of(call.attrs, pool_items, places.size());
  const int64_t length = call.x(0).shape().back();
  float* y = call.y().data<float>();
  std::fill_n(y, call.y().numel(), 0.0F);
  for (auto row = items.begin(); row != items.end(); row += length, y += sizes.width)
    each_ngram(std::vector<T>(row, row + length), sizes, pool, [&](size_t id) {
      float& place = y[places[id]];
      const auto weight = weights.empty() ? 1.0F : static_cast<float>(weights[id]);
      if (mode == "TF")
        place += 1;
      else
        place = mode == "IDF" ? weight : place + weight;
    });
}

void forward_ngrams(const Call& call) {
  const Tensor& x = call.x(0);
  if (of_strings(call.attrs)) {
    const auto values = x.values<std::string>();
    return count<std::string>(call, {values.begin(), values.end()},
                              call.attrs.strings("pool_strings"));
  }
  count<int64_t>(call, x.to_ints(), call.attrs.ints("pool_int64s"));
}

}  // namespace

extern const OpDef ngrams_op = {
    .name = "ngrams",
    .infer = infer_ngrams,
    .forward = forward_ngrams,
    .no_grad = "words are no numbers",
    .strings = true,
    .imports = {{"onnx:TfIdfVectorizer", onnx_same<"ngrams">}},
};

}  // namespace hub
