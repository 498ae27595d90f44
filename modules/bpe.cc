#include "modules/bpe.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <queue>

#include "base/error.h"
#include "base/text.h"
#include "hub/manifest.h"

namespace hub {
namespace {

constexpr size_t most_bytes = size_t{64} << 20;
constexpr std::string_view blank = "\xe2\x96\x81";  // U+2581

[[noreturn]] void other_kind(std::string_view what) {
  fail(Code::refused, "the tokenizer's ", what, " is of another kind; wanted a byte-pair encoding ",
       "with byte fallback, blanks as U+2581 and no pre-tokenizer");
}

const json& member(const json& object, const char* key) {
  static const json none;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && it != object.end() ? *it : none;
}

/// Whether a U+2581 goes in front and every blank becomes one.
bool marks_blanks(const json& normalizer) {
  const json& parts = member(normalizer, "normalizers");
  return member(normalizer, "type") == "Sequence" && parts.is_array() && parts.size() == 2 &&
         member(parts[0], "type") == "Prepend" && member(parts[0], "prepend") == blank &&
         member(parts[1], "type") == "Replace" && member(parts[1], "content") == blank &&
         member(member(parts[1], "pattern"), "String") == " ";
}

std::unordered_map<std::string, int32_t> read_vocabulary(const json& vocab) {
  if (!vocab.is_object()) other_kind("vocabulary");
  std::unordered_map<std::string, int32_t> ids;
  ids.reserve(vocab.size());
  for (const auto& [piece, id] : vocab.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) other_kind("vocabulary");
    ids.emplace(piece, id.get<int32_t>());
  }
  return ids;
}

/// A piece of a text while its neighbours are merged into it.
struct Symbol {
  int32_t id;
  size_t before, after;  ///< neighbours; `none` at the ends
};
constexpr size_t none = SIZE_MAX;

struct Candidate {
  int32_t rank;
  size_t at;  ///< the left symbol
  int32_t id;
  bool operator<(const Candidate& other) const {  // the queue gives the greatest first
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

}  // namespace

Bpe::Bpe(std::string_view file) {
  const json tokenizer = parse_json(file, most_bytes);
  const json& model = member(tokenizer, "model");
  if (member(model, "type") != "BPE" || member(model, "byte_fallback") != true) other_kind("model");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix", "dropout"}) {
    if (!member(model, key).is_null()) other_kind("model");
  }
  if (member(model, "ignore_merges") == true) other_kind("model");
  if (!marks_blanks(member(tokenizer, "normalizer"))) other_kind("normalizer");
  if (!member(tokenizer, "pre_tokenizer").is_null()) other_kind("pre-tokenizer");

  const auto ids = read_vocabulary(member(model, "vocab"));
  const auto id = [&](const std::string& piece) {
    const auto it = ids.find(piece);
    if (it == ids.end()) {
      fail(Code::refused, "the tokenizer's vocabulary has no piece '", printable(piece), "'");
    }
    return it->second;
  };
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    bytes_[byte] = id(name);
  }
  for (const auto& [piece, number] : ids) {
    if (decode_utf8(piece).size() == 1) characters_.emplace(piece, number);
  }
  const json& merges = member(model, "merges");
  if (!merges.is_array()) other_kind("merges");
  int32_t rank = 0;
  for (const json& merge : merges) {
    const std::string both = merge.is_string() ? merge.get<std::string>() : "";
    const size_t cut = both.find(' ');
    if (cut == std::string::npos) other_kind("merges");
    const std::string left = both.substr(0, cut), right = both.substr(cut + 1);
    merges_.try_emplace(pair(id(left), id(right)), Merge{rank++, id(left + right)});
  }
}

/// Code points, those without a piece as their bytes.
std::vector<int32_t> Bpe::pieces(std::string_view text) const {
  std::string marked(text.empty() ? "" : blank);
  for (const char c : text) c == ' ' ? marked += blank : marked += c;
  std::vector<int32_t> ids;
  for (size_t from = 0, to = 0; from < marked.size(); from = to) {
    for (++to; to < marked.size() && (static_cast<unsigned char>(marked[to]) & 0xc0) == 0x80;) ++to;
    const auto it = characters_.find(marked.substr(from, to - from));
    if (it != characters_.end()) {
      ids.push_back(it->second);
    } else {
      for (size_t i = from; i < to; ++i)
        ids.push_back(bytes_[static_cast<unsigned char>(marked[i])]);
    }
  }
  return ids;
}

std::vector<int64_t> Bpe::encode(std::string_view text) const {
  std::vector<Symbol> symbols;
  for (const int32_t id : pieces(text)) {
    const size_t at = symbols.size();
    symbols.push_back({id, at == 0 ? none : at - 1, at + 1});
  }
  if (!symbols.empty()) symbols.back().after = none;

  std::priority_queue<Candidate> queue;
  const auto offer = [&](size_t at) {
    if (at == none || symbols[at].after == none) return;
    const auto it = merges_.find(pair(symbols[at].id, symbols[symbols[at].after].id));
    if (it != merges_.end()) queue.push({it->second.rank, at, it->second.id});
  };
  for (size_t at = 0; at < symbols.size(); ++at) offer(at);
  constexpr int32_t gone = -1;
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.id == gone || left.after == none) continue;
    // Stale when either side was merged since, unless what it makes is the same.
    const auto it = merges_.find(pair(left.id, symbols[left.after].id));
    if (it == merges_.end() || it->second.id != best.id) continue;
    Symbol& right = symbols[left.after];
    left.id = best.id;
    left.after = right.after;
    right.id = gone;
    if (left.after != none) symbols[left.after].before = best.at;
    offer(left.before);
    offer(best.at);
  }
  std::vector<int64_t> ids;
  for (const Symbol& symbol : symbols) {
    if (symbol.id != gone) ids.push_back(symbol.id);
  }
  return ids;
}

}  // namespace hub
