// Chunks of tagged sequences, as conlleval.pl (CoNLL-2000) finds them.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "finetune/metrics/counts.h"

namespace hub {
namespace {

bool is_mark(char c) { return std::string_view("BIES").find(c) != std::string_view::npos; }

}  // namespace

SpanMeter::SpanMeter(std::vector<std::string> tags) {
  std::map<std::string, int> kinds;
  for (const std::string& tag : tags) {
    const size_t n = tag.size();
    Tag known;
    std::string kind;
    if (n > 2 && is_mark(tag[0]) && tag[1] == '-') {
      known.mark = tag[0];
      kind = tag.substr(2);
    } else if (n > 2 && is_mark(tag[n - 1]) && tag[n - 2] == '-') {
      known.mark = tag[n - 1];
      kind = tag.substr(0, n - 2);
    }
    if (known.mark != 'O') {
      const auto [at, fresh] = kinds.emplace(kind, static_cast<int>(kinds_.size()));
      if (fresh) kinds_.push_back(kind);
      known.kind = at->second;
    }
    tags_.push_back(known);
  }
  hits_.resize(kinds_.size());
  support_.resize(kinds_.size());
  predicted_.resize(kinds_.size());
}

std::vector<SpanMeter::Span> SpanMeter::spans(std::span<const int32_t> tags) const {
  std::vector<Span> found;
  bool open = false;
  Tag before;
  for (size_t i = 0; i < tags.size(); ++i) {
    const Tag& tag = tags_[static_cast<size_t>(tags[i])];
    const bool border = tag.mark == 'O' || tag.mark == 'B' || tag.mark == 'S' ||
                        before.mark == 'E' || before.mark == 'S' || before.kind != tag.kind;
    if (open && !border) {
      found.back().end = i + 1;
    } else if ((open = tag.mark != 'O')) {
      found.push_back({i, i + 1, tag.kind});
    }
    before = tag;
  }
  return found;
}

void SpanMeter::add(std::span<const int32_t> predicted, std::span<const int32_t> wanted) {
  if (predicted.size() != wanted.size())
    fail(Code::usage, predicted.size(), " predicted tags for ", wanted.size(), " tokens");
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int32_t tag : {predicted[i], wanted[i]}) {
      if (tag < 0 || static_cast<size_t>(tag) >= tags_.size())
        fail(Code::refused, "token ", i, " has tag number ", tag, ", but there are ", tags_.size(),
             " tags, numbered from 0");
    }
    right_ += predicted[i] == wanted[i];
    ++tokens_;
  }
  const std::vector<Span> ours = spans(predicted), theirs = spans(wanted);
  for (const Span& s : ours) {
    ++predicted_[static_cast<size_t>(s.kind)];
    hits_[static_cast<size_t>(s.kind)] += std::binary_search(theirs.begin(), theirs.end(), s);
  }
  for (const Span& s : theirs) ++support_[static_cast<size_t>(s.kind)];
}

Metrics SpanMeter::result() const {
  Metrics m;
  const double accuracy = share(right_, tokens_);
  if (kinds_.empty()) {
    m.values = {{"accuracy", accuracy}};
    return m;
  }
  m.classes = class_rows(kinds_, hits_, support_, predicted_);
  const ClassRow all = micro(hits_, support_, predicted_);
  m.values = {{"span_f1", all.f1},
              {"span_precision", all.precision},
              {"span_recall", all.recall},
              {"macro_span_f1", macro_f1(m.classes)},
              {"accuracy", accuracy}};
  warn_of_classes(m);
  return m;
}

}  // namespace hub
