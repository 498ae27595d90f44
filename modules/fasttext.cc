#include "modules/fasttext.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "modules/fasttext_matrix.h"

namespace hub {
namespace {

constexpr std::string_view line_end = "</s>", label_prefix = "__label__";

uint32_t hash_of(std::string_view text) {
  uint32_t h = 2166136261U;
  for (const char c : text) {
    h ^= static_cast<uint32_t>(static_cast<int8_t>(c));
    h *= 16777619U;
  }
  return h;
}

bool inside_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

bool blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

constexpr int64_t endless = 1000000000000000;  ///< more than any count

/// A node of the tree over the labels; the leaves come first. -1: none.
struct Node {
  int64_t count = endless;
  int32_t left = -1, right = -1;
};

/// Huffman's tree over counts that fall, each of them below `endless`.
std::vector<Node> tree_of(const std::vector<int64_t>& counts) {
  const size_t leaves = counts.size();
  std::vector<Node> tree(2 * leaves - 1);
  for (size_t i = 0; i < leaves; ++i) tree[i].count = counts[i];
  size_t leaf = leaves, inner = leaves;  // the leaf before this one is the next
  for (size_t i = leaves; i < tree.size(); ++i) {
    size_t least[2];
    for (size_t& one : least)
      one = leaf > 0 && tree[leaf - 1].count < tree[inner].count ? --leaf : inner++;
    tree[i].left = static_cast<int32_t>(least[0]);
    tree[i].right = static_cast<int32_t>(least[1]);
    if (__builtin_add_overflow(tree[least[0]].count, tree[least[1]].count, &tree[i].count))
      fail(Code::refused, "the counts of its labels are too large");
  }
  return tree;
}

}  // namespace

struct FastText::Model {
  enum class Kind { word, label };
  static constexpr int32_t hierarchical = 1, plain_softmax = 3;

  MappedFile file;
  int64_t width = 0;
  int32_t word_runs = 0, loss = 0, shortest = 0, longest = 0;
  uint32_t buckets = 0;
  int64_t words = 0, pruned = 0;  ///< pruned: -1: not; otherwise the pieces that are left
  std::unordered_map<std::string_view, int32_t> numbers;  ///< words, then labels
  std::vector<std::string_view> labels;
  std::unordered_map<int32_t, int32_t> kept;  ///< piece -> its row behind the words
  FastTextMatrix input, output;
  std::vector<Node> tree;

  explicit Model(const MappedFile& from);
  void read_arguments(FastTextReader& in);
  void read_dictionary(FastTextReader& in, std::vector<int64_t>& counts);
  void check() const;

  std::vector<int64_t> rows_of(std::string_view line) const;
  void add_word(std::string_view word, std::vector<int64_t>& rows,
                std::vector<int32_t>& hashes) const;
  void add_pieces(std::string_view word, std::vector<int64_t>& rows) const;
  void add_piece(uint64_t hash, std::vector<int64_t>& rows) const;
  /// The logarithms of the labels' probabilities.
  std::vector<float> scores(std::span<const float> hidden) const;
};

FastText::Model::Model(const MappedFile& from) : file(from) {
  FastTextReader in(file.text());
  read_arguments(in);
  std::vector<int64_t> counts;
  read_dictionary(in, counts);
  const bool quantised = in.truth();
  input = FastTextMatrix(in, quantised);
  const bool output_quantised = in.truth();
  output = FastTextMatrix(in, quantised && output_quantised);
  if (in.left() != 0) fail(Code::refused, in.left(), " bytes are left behind its matrices");
  check();
  if (loss == hierarchical) tree = tree_of(counts);
}

void FastText::Model::read_arguments(FastTextReader& in) {
  constexpr int32_t magic = 793712314, classifier = 3;
  if (in.number<int32_t>() != magic) fail(Code::refused, "it does not begin as one");
  const auto version = in.number<int32_t>();
  if (version != 11 && version != 12)
    fail(Code::unsupported, "version ", version, "; 11 and 12 can be read");
  width = in.number<int32_t>();
  in.take(4 * sizeof(int32_t));  // window, epochs, least count, negatives: of training
  word_runs = in.number<int32_t>();
  loss = in.number<int32_t>();
  const auto kind = in.number<int32_t>();
  const auto bucket = in.number<int32_t>();
  shortest = in.number<int32_t>();
  longest = in.number<int32_t>();
  in.take(sizeof(int32_t) + sizeof(double));  // rate of updates, of sampling
  if (kind != classifier) fail(Code::unsupported, "it holds vectors of words, no classifier");
  if (loss != hierarchical && loss != plain_softmax)
    fail(Code::unsupported, "its loss is number ", loss,
         "; 1 (hierarchical softmax) and 3 (softmax) can be read");
  constexpr int32_t most_letters = 64, most_run = 64;
  if (bucket < 0 || word_runs < 0 || word_runs > most_run || longest > most_letters)
    fail(Code::refused, "it has ", bucket, " buckets, runs of ", word_runs, " words and pieces of ",
         longest, " letters");
  buckets = static_cast<uint32_t>(bucket);
  if (version == 11) longest = 0;  // did not use pieces
}

void FastText::Model::read_dictionary(FastTextReader& in, std::vector<int64_t>& counts) {
  const int64_t size = in.number<int32_t>();
  words = in.number<int32_t>();
  const int64_t label_count = in.number<int32_t>();
  in.number<int64_t>();  // tokens of the training text
  pruned = in.number<int64_t>();
  constexpr int64_t entry = 1 + sizeof(int64_t) + 1;  // the shortest one
  if (words < 0 || label_count < 1 || size != words + label_count ||
      size > static_cast<int64_t>(in.left()) / entry)
    fail(Code::refused, "it has ", size, " entries, of them ", words, " words and ", label_count,
         " labels");
  for (int64_t i = 0; i < size; ++i) {
    const std::string_view text = in.text();
    const auto count = in.number<int64_t>();
    const auto kind = static_cast<Kind>(in.number<int8_t>());
    if (kind != (i < words ? Kind::word : Kind::label) || count < 0 || count >= endless)
      fail(Code::refused, "entry ", i, ", '", printable(text.substr(0, 40)),
           "', is neither a word before the labels nor a label behind the words, or has been seen ",
           count, " times");
    numbers.emplace(text, static_cast<int32_t>(i));
    if (kind == Kind::word) continue;
    if (!valid_utf8(text)) fail(Code::refused, "a label is not UTF-8");
    labels.push_back(text.starts_with(label_prefix) ? text.substr(label_prefix.size()) : text);
    counts.push_back(count);
  }
  if (pruned < -1 || pruned > static_cast<int64_t>(in.left()) / 8)
    fail(Code::refused, "it keeps ", pruned, " pieces");
  for (int64_t i = 0; i < pruned; ++i) {
    const auto piece = in.number<int32_t>();
    const auto row = in.number<int32_t>();
    if (row < 0 || row >= pruned) fail(Code::refused, "a piece in row ", row, " of ", pruned);
    kept.emplace(piece, row);
  }
}

void FastText::Model::check() const {
  const int64_t pieces = pruned >= 0 ? pruned : int64_t{buckets};
  if (input.columns() != width || output.columns() != width || input.rows() < words + pieces)
    fail(Code::refused, "its vectors are ", input.rows(), " of ", input.columns(), " and ",
         output.rows(), " of ", output.columns(), " numbers, wanted ", words + pieces,
         " and a row a label, of ", width);
  const auto rows = static_cast<int64_t>(labels.size()) - (loss == hierarchical ? 1 : 0);
  if (output.rows() < rows)
    fail(Code::refused, "it has ", output.rows(), " rows for ", labels.size(), " labels");
}

void FastText::Model::add_piece(uint64_t hash, std::vector<int64_t>& rows) const {
  if (buckets == 0) return;
  auto piece = static_cast<int32_t>(hash % buckets);
  if (pruned >= 0) {
    const auto it = kept.find(piece);
    if (it == kept.end()) return;
    piece = it->second;
  }
  rows.push_back(words + piece);
}

void FastText::Model::add_pieces(std::string_view word, std::vector<int64_t>& rows) const {
  for (size_t i = 0; i < word.size(); ++i) {
    if (inside_character(word[i])) continue;
    size_t j = i;
    for (int32_t n = 1; j < word.size() && n <= longest; ++n) {
      ++j;
      while (j < word.size() && inside_character(word[j])) ++j;
      const bool bound_alone = n == 1 && (i == 0 || j == word.size());
      if (n >= shortest && !bound_alone) add_piece(hash_of(word.substr(i, j - i)), rows);
    }
  }
}

void FastText::Model::add_word(std::string_view word, std::vector<int64_t>& rows,
                               std::vector<int32_t>& hashes) const {
  const auto it = numbers.find(word);
  if (it == numbers.end() ? word.starts_with(label_prefix) : it->second >= words) return;
  if (it != numbers.end()) rows.push_back(it->second);
  if (word != line_end && longest > 0) add_pieces(concat("<", word, ">"), rows);
  hashes.push_back(static_cast<int32_t>(hash_of(word)));
}

std::vector<int64_t> FastText::Model::rows_of(std::string_view line) const {
  std::vector<int64_t> rows;
  std::vector<int32_t> hashes;
  std::string_view word;
  for (size_t at = 0; at < line.size() && word != line_end;) {
    size_t end = at;
    while (end < line.size() && !blank(line[end])) ++end;
    word = line.substr(at, end - at);
    if (end > at) add_word(word, rows, hashes);
    at = end + 1;
  }
  if (word != line_end) add_word(line_end, rows, hashes);
  for (size_t i = 0; i < hashes.size(); ++i) {
    auto h = static_cast<uint64_t>(int64_t{hashes[i]});
    for (size_t j = i + 1; j < hashes.size() && j < i + static_cast<size_t>(word_runs); ++j) {
      h = h * 116049371U + static_cast<uint64_t>(int64_t{hashes[j]});
      add_piece(h, rows);
    }
  }
  return rows;
}

std::vector<float> FastText::Model::scores(std::span<const float> hidden) const {
  const size_t count = labels.size();
  std::vector<float> scores(count);
  if (loss == plain_softmax) {
    for (size_t i = 0; i < count; ++i) scores[i] = output.dot_row(static_cast<int64_t>(i), hidden);
    const float most = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (float& s : scores) sum += s = std::exp(s - most);
    for (float& s : scores) s = static_cast<float>(std::log(s / sum + 1e-5));
    return scores;
  }
  const auto log = [](double x) { return static_cast<float>(std::log(x + 1e-5)); };
  std::vector<float> reached(tree.size());
  for (size_t node = tree.size(); node-- > count;) {
    const float x = output.dot_row(static_cast<int64_t>(node - count), hidden);
    const auto right = static_cast<float>(1. / (1 + std::exp(-x)));
    reached[static_cast<size_t>(tree[node].left)] = reached[node] + log(1.0 - right);
    reached[static_cast<size_t>(tree[node].right)] = reached[node] + log(right);
  }
  std::copy_n(reached.begin(), count, scores.begin());
  return scores;
}

FastText::FastText(const MappedFile& file)
    : model_(within("fastText model", [&] { return std::make_unique<const Model>(file); })) {}

FastText::~FastText() = default;

std::vector<std::pair<std::string_view, float>> FastText::predict(std::string_view line) const {
  const Model& m = *model_;
  const std::vector<int64_t> rows = m.rows_of(line);
  std::vector<std::pair<std::string_view, float>> out;
  if (rows.empty()) return out;
  std::vector<float> hidden(static_cast<size_t>(m.width));
  for (const int64_t row : rows) m.input.add_row(row, hidden);
  const auto factor = static_cast<float>(1.0 / static_cast<double>(rows.size()));
  for (float& x : hidden) x *= factor;

  const std::vector<float> scores = m.scores(hidden);
  const auto least = static_cast<float>(std::log(1e-5));
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return !(scores[i] >= least); });
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  for (const size_t i : order) out.emplace_back(m.labels[i], std::exp(scores[i]));
  return out;
}

}  // namespace hub
