#include "modules/timestamps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hub {
namespace {

constexpr float never_said = -std::numeric_limits<float>::infinity();
constexpr int64_t frames_a_step = 2;

void forbid(std::span<float> logits, int64_t from, int64_t to) {
  const auto size = static_cast<int64_t>(logits.size());
  for (int64_t i = std::max<int64_t>(from, 0); i < std::min(to, size); ++i)
    logits[static_cast<size_t>(i)] = never_said;
}

/// Whether all numbers of `some` together, as parts of one softmax, are more than each of `others`.
bool outweigh(std::span<const float> some, std::span<const float> others) {
  if (some.empty() || others.empty()) return false;
  const float most = *std::ranges::max_element(some);
  if (most == never_said) return false;
  double sum = 0;
  for (const float x : some) sum += std::exp(x - most);
  return most + std::log(sum) > *std::ranges::max_element(others);
}

}  // namespace

void TimestampRules::apply(std::span<const int64_t> tokens, std::span<float> logits) const {
  const auto all = static_cast<int64_t>(logits.size());
  const auto is_time = [&](size_t back) { return tokens[tokens.size() - back] >= first_time; };
  for (const int64_t id : never) forbid(logits, id, id + 1);
  forbid(logits, first_time - 1, first_time);
  if (tokens.empty()) {
    for (const int64_t id : never_first) forbid(logits, id, id + 1);
    forbid(logits, 0, first_time);
    forbid(logits, first_time + latest_start + 1, all);
    return;
  }
  const bool after_pair = is_time(1) && (tokens.size() == 1 || is_time(2));
  if (after_pair) {
    forbid(logits, first_time, all);
  } else if (is_time(1)) {
    forbid(logits, 0, end);
  }
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(),
                                 [&](int64_t token) { return token >= first_time; });
  if (last != tokens.rend()) forbid(logits, first_time, *last);
  const auto text = static_cast<size_t>(std::clamp<int64_t>(first_time, 0, all));
  if (!after_pair && outweigh(logits.subspan(text), logits.first(text)))
    forbid(logits, 0, first_time);
}

SpokenParts cut_by_times(std::span<const int64_t> tokens, int64_t first_time, int64_t frames) {
  SpokenParts cut{.parts = {}, .next = frames};
  const auto is_time = [&](size_t i) { return tokens[i] >= first_time; };
  const auto frame = [&](size_t i) {
    return std::max<int64_t>(0, tokens[i] - first_time) * frames_a_step;
  };
  const auto part = [&](size_t from, size_t to) {
    const auto some = tokens.subspan(from, to - from);
    cut.parts.push_back({frame(from), frame(to - 1), {some.begin(), some.end()}});
  };
  size_t from = 0;
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (!is_time(i) || !is_time(i - 1)) continue;
    part(from, i);
    from = i;
  }
  const size_t size = tokens.size();
  if (from == 0) {
    size_t last = size;
    while (last > 0 && !is_time(last - 1)) --last;
    const int64_t end = last > 0 ? frame(last - 1) : 0;
    cut.parts.push_back({0, end > 0 ? end : frames, {tokens.begin(), tokens.end()}});
  } else if (!is_time(size - 2) && is_time(size - 1)) {
    part(from, size);  // nothing is said behind it
  } else {
    const int64_t reached = frame(from - 1);
    if (reached > 0) cut.next = reached;  // a window that ends where it began would come again
  }
  return cut;
}

}  // namespace hub
