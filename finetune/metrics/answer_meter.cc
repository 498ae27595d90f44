// Answers against right answers, as the evaluation of SQuAD 1.1 and 2.0 compares them.
#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "finetune/metrics/counts.h"

namespace hub {
namespace {

bool is_cjk(char32_t c) {
  return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0x20000 && c <= 0x3134f);
}

bool is_punctuation(char32_t c) {
  return (c < 0x80 && std::ispunct(static_cast<int>(c)) != 0) || (c >= 0x3001 && c <= 0x3003) ||
         (c >= 0x3008 && c <= 0x3011) || (c >= 0x2018 && c <= 0x201d) || c == 0xff0c ||
         c == 0xff01 || c == 0xff1f || c == 0xff1a || c == 0xff1b || c == 0xff08 || c == 0xff09;
}

bool is_space(char32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> found;
  std::string word;
  auto end_word = [&] {
    if (!word.empty() && word != "a" && word != "an" && word != "the") found.push_back(word);
    word.clear();
  };
  for (char32_t c : decode_utf8(lower_ascii(text))) {
    if (is_punctuation(c)) continue;
    if (is_space(c) || is_cjk(c)) end_word();
    if (is_space(c)) continue;
    append_utf8(word, c);
    if (is_cjk(c)) end_word();
  }
  end_word();
  return found;
}

double token_f1(const std::vector<std::string>& predicted, const std::vector<std::string>& wanted) {
  if (predicted.empty() || wanted.empty()) return predicted.empty() == wanted.empty() ? 1 : 0;
  std::map<std::string_view, int64_t> left;
  for (const std::string& token : wanted) ++left[token];
  int64_t common = 0;
  for (const std::string& token : predicted) common += left[token]-- > 0;
  return share(2 * common, static_cast<int64_t>(predicted.size() + wanted.size()));
}

}  // namespace

void AnswerMeter::add(std::string_view predicted, std::span<const std::string> answers) {
  const std::vector<std::string> ours = tokens(predicted);
  double exact = 0, f1 = 0;
  auto compare = [&](std::string_view answer) {
    const std::vector<std::string> theirs = tokens(answer);
    exact = std::max<double>(exact, ours == theirs);
    f1 = std::max(f1, token_f1(ours, theirs));
  };
  if (answers.empty()) compare("");
  for (const std::string& answer : answers) compare(answer);
  exact_ += exact;
  f1_ += f1;
  ++rows_;
}

Metrics AnswerMeter::result() const {
  const double n = std::max<double>(1, static_cast<double>(rows_));
  Metrics m;
  m.values = {{"token_f1", f1_ / n}, {"exact_match", exact_ / n}};
  return m;
}

}  // namespace hub
