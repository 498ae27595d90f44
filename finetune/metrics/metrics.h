// How good a model is on a data set: meters that take rows batch by batch, in any batch size, and
// the result as values, tables and warnings.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hub {

using json = nlohmann::json;

/// One class (or kind of span). A share of nothing is 0.
struct ClassRow {
  std::string name;
  double precision = 0, recall = 0, f1 = 0;
  int64_t support = 0;    ///< rows that are of this class
  int64_t predicted = 0;  ///< rows that were taken for it
};

struct Metrics {
  std::vector<std::pair<std::string, double>> values;  ///< by name, the most important first
  std::vector<ClassRow> classes;                       ///< empty where there are no classes
  std::vector<std::vector<int64_t>> confusion;  ///< rows counted as [true][predicted], or empty
  std::vector<std::string> warnings;

  const double* find(std::string_view name) const;
  /// Throws Code::usage naming the values there are.
  double at(std::string_view name) const;
};

/// {"values": {…}, "classes": […], "confusion": [[…]], "warnings": […]}; what is empty is left out.
json to_json(const Metrics& metrics);
/// The values, the table of classes and the warnings, for a terminal.
std::string to_text(const Metrics& metrics);

/// The loss of a data set: its sum over rows (or tokens) divided by their number, so that it does
/// not depend on the batch size.
class MeanLoss {
 public:
  /// `sum` of the losses of `rows` rows. Throws Code::numeric when it is not a finite number.
  void add(double sum, int64_t rows);
  double value() const { return rows_ == 0 ? 0 : sum_ / static_cast<double>(rows_); }
  double perplexity() const;  ///< exp(value), for a loss in nats a token
  int64_t rows() const { return rows_; }

 private:
  double sum_ = 0;
  int64_t rows_ = 0;
};

/// Each row is of one class: loss (mean cross-entropy in nats), accuracy, top<k>_accuracy,
/// macro_f1, micro_f1, balanced_accuracy, matthews, roc_auc (two classes: of the second; more: the
/// mean of one class against the rest). Macro F1 is the mean over the classes that occur, in truth
/// or prediction.
class ClassMeter {
 public:
  /// `classes` are the names by index. top_k is left out where there are no more than k classes.
  explicit ClassMeter(std::vector<std::string> classes, int top_k = 5);
  /// logits [rows, classes], labels [rows]. Equal logits count as the lower index. Throws
  /// Code::numeric at a logit that is not finite and Code::refused at a label that is no class.
  void add(std::span<const float> logits, std::span<const int32_t> labels);
  /// Where only decisions are known: no loss, no top-k, no AUC. Not mixed with the other.
  void add_decisions(std::span<const int32_t> predicted, std::span<const int32_t> labels);
  Metrics result() const;

 private:
  void check(int32_t label) const;
  std::vector<std::string> classes_;
  int top_k_;
  int64_t rows_ = 0, top_hits_ = 0;
  MeanLoss loss_;
  std::vector<std::vector<int64_t>> confusion_;
  std::vector<float> scores_;  ///< [rows, classes] probabilities, for the AUC
  std::vector<int32_t> labels_;
};

/// Each row has any number of classes; a class is predicted where its logit is above 0 (probability
/// above one half). loss (binary cross-entropy, mean over classes, then over rows), micro_f1,
/// macro_f1 (as ClassMeter's), subset_accuracy (all classes of a row right), roc_auc (mean over the
/// classes that have both kinds of rows).
class MultiLabelMeter {
 public:
  explicit MultiLabelMeter(std::vector<std::string> classes);
  /// Both [rows, classes]; a target other than 0 means that the row has the class.
  void add(std::span<const float> logits, std::span<const uint8_t> targets);
  Metrics result() const;

 private:
  std::vector<std::string> classes_;
  int64_t rows_ = 0, exact_ = 0;
  MeanLoss loss_;
  std::vector<int64_t> hits_, support_, predicted_;
  std::vector<float> scores_;
  std::vector<uint8_t> targets_;
};

/// Numbers: loss (mean squared error), rmse, mae, pearson, spearman (average ranks for ties). A
/// correlation with something constant is 0, with a warning.
class RegressionMeter {
 public:
  void add(std::span<const float> predicted, std::span<const float> wanted);
  Metrics result() const;

 private:
  std::vector<double> predicted_, wanted_;
};

/// Tagged sequences: accuracy (of tokens) and, where tags mark chunks, span_f1, span_precision,
/// span_recall (micro) and macro_span_f1, counted as conlleval does: a chunk is right when its
/// borders and kind are. Tags are "B-PER" or, as in Chinese sets, "PER-B"; B I O E S are known.
class SpanMeter {
 public:
  explicit SpanMeter(std::vector<std::string> tags);
  /// Tag indices of one sequence, without padding.
  void add(std::span<const int32_t> predicted, std::span<const int32_t> wanted);
  Metrics result() const;

 private:
  struct Tag {
    char mark = 'O';
    int kind = -1;  ///< index into kinds_
  };
  struct Span {
    size_t begin, end;
    int kind;
    auto operator<=>(const Span&) const = default;
  };
  std::vector<Span> spans(std::span<const int32_t> tags) const;
  std::vector<Tag> tags_;
  std::vector<std::string> kinds_;
  int64_t tokens_ = 0, right_ = 0;
  std::vector<int64_t> hits_, support_, predicted_;
};

/// Reading comprehension as SQuAD scores it: exact_match and token_f1 of answers without case
/// (ASCII), punctuation, articles and spacing; the best of several right answers counts. Chinese,
/// Japanese and Korean characters are tokens of their own. An empty text is "no answer".
class AnswerMeter {
 public:
  void add(std::string_view predicted, std::span<const std::string> answers);
  Metrics result() const;

 private:
  int64_t rows_ = 0;
  double exact_ = 0, f1_ = 0;
};

/// Area under the ROC curve: the chance that a positive row scores above a negative one, a tie
/// being half. NaN where one of the two is missing.
double roc_auc(std::span<const float> scores, std::span<const uint8_t> positive);

}  // namespace hub
