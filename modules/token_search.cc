#include "modules/token_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hub {
namespace {

struct Candidate {
  double score = 0;
  Branch branch;
};
bool better(const Candidate& a, const Candidate& b) { return a.score > b.score; }

/// Adds the `count` likeliest successors of a row to `found`.
void add_best(std::span<const float> logits, size_t parent, double score, size_t count,
              std::vector<Candidate>& found) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - most);
  if (!std::isfinite(sum)) fail(Code::numeric, "the network's logits are not numbers");
  const double base = score - most - std::log(sum);
  std::vector<Candidate> best;  // a heap with the least likely on top
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate candidate{base + logits[i], {parent, static_cast<int64_t>(i)}};
    if (best.size() == count) {
      if (!better(candidate, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.push_back(candidate);
    std::push_heap(best.begin(), best.end(), better);
  }
  found.insert(found.end(), best.begin(), best.end());
}

/// CTranslate2's measure: the end counts for the score, not for the length.
double a_token(const TokenRow& row) {
  return row.log_probability / static_cast<double>(row.tokens.size());
}

}  // namespace

TokenRow search_tokens(std::span<float> first, const SearchLimits& limits, const NextLogits& next,
                       const TokenRule& rule) {
  std::vector<TokenRow> alive(1), ended;
  std::span<float> logits = first;
  for (size_t step = 1;; ++step) {
    // Twice as many as beams, so that as many go on when half of them end.
    std::vector<Candidate> candidates;
    const size_t words = logits.size() / alive.size(), wanted = 2 * limits.beams;
    for (size_t i = 0; i < alive.size(); ++i) {
      const std::span row = logits.subspan(i * words, words);
      rule(alive[i].tokens, row);
      add_best(row, i, alive[i].log_probability, wanted, candidates);
    }
    std::ranges::sort(candidates, better);
    candidates.resize(std::min(candidates.size(), wanted));

    const auto row_of = [&](const Candidate& c) {
      TokenRow row{alive[c.branch.parent].tokens, c.score};
      if (c.branch.token != limits.end) row.tokens.push_back(c.branch.token);
      return row;
    };
    const bool last = step == limits.longest;
    std::vector<TokenRow> rows;
    std::vector<Branch> branches;
    size_t spare = limits.beams;
    for (size_t k = 0; k < limits.beams; ++k) {
      size_t goes_on = std::min(k, candidates.size() - 1);
      if (candidates[goes_on].branch.token == limits.end || last) {
        ended.push_back(row_of(candidates[goes_on]));
        while (spare < candidates.size() && candidates[spare].branch.token == limits.end) ++spare;
        if (spare < candidates.size()) goes_on = spare++;
      }
      rows.push_back(row_of(candidates[goes_on]));
      branches.push_back(candidates[goes_on].branch);
    }
    if (last || ended.size() >= limits.beams) break;
    alive = std::move(rows);
    logits = next(branches);
  }
  return *std::ranges::max_element(
      ended, [](const TokenRow& a, const TokenRow& b) { return a_token(a) < a_token(b); });
}

}  // namespace hub
