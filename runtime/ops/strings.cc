// Operators on strings (UTF-8):
//  string_concat(a, b): b behind a, broadcast;
//  string_split(x): the parts of each string, on a new last axis and filled up with empty strings,
//  and how many there are; between them stands `delimiter`, or white space when that is empty; at
//  most `maxsplit` times;
//  string_normalize(x): without the strings of `stopwords`, in upper or lower case
//  (`case_change_action`), one empty string when none is left; x is [n] or [1, n].
#include <utf8proc.h>

#include <set>

#include "base/text.h"
#include "runtime/ops/objects.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Inputs = std::span<const Tensor* const>;
using Strings = Types<std::string>;

std::vector<Spec> infer_concat(const Infer& in) {
  check_type(in, 0, Strings{});
  check_same_type(in, 0, 1);
  return {{DType::string, broadcast(in.in(0).shape, in.in(1).shape)}};
}

void forward_concat(const Call& call) {
  const Shape& shape = call.y().shape();
  const auto strides = [&](size_t i) { return broadcast_strides(call.x(i).shape(), shape); };
  const auto* a = call.x(0).data<std::string>();
  const auto* b = call.x(1).data<std::string>();
  auto* y = call.y().data<std::string>();
  each_row(Walk<2>{shape, {strides(0), strides(1)}},
           [&](int64_t row, int64_t n, std::array<int64_t, 2> at, std::array<int64_t, 2> step) {
             for (int64_t i = 0; i < n; ++i)
               y[row + i] = a[at[0] + i * step[0]] + b[at[1] + i * step[1]];
           });
}

/// The shapes of these results depend on what the strings are.
std::vector<Spec> infer_from_text(const Infer& in) {
  check_type(in, 0, Strings{});
  throw ValueUnknown{};
}

const Tensor& strings_of(Inputs in) {
  if (in.empty() || in[0] == nullptr || in[0]->dtype() != DType::string)
    fail(Code::refused, "strings are wanted");
  return *in[0];
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls f(part) for each part.
template <class F>
void each_part(std::string_view text, std::string_view delimiter, int64_t most, F f) {
  if (delimiter.empty()) {
    for (int64_t splits = 0;; ++splits) {
      while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
      if (text.empty()) return;
      if (splits == most) return f(text);
      size_t end = 0;
      while (end < text.size() && !is_space(text[end])) ++end;
      f(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  for (int64_t splits = 0;; ++splits) {
    const size_t end = splits == most ? text.npos : text.find(delimiter);
    f(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + delimiter.size());
  }
}

std::vector<Tensor> run_split(const Attrs& attrs, Inputs in, const RunBlock&) {
  const Tensor& x = strings_of(in);
  const std::string delimiter = attrs.s("delimiter", "");
  const int64_t given = attrs.i("maxsplit", -1);
  const int64_t most = given < 0 ? INT64_MAX : given;
  Tensor counts(DType::i64, x.shape());
  int64_t width = 0;
  size_t bytes = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const std::string& text = x.data<std::string>()[i];
    int64_t count = 0;
    each_part(text, delimiter, most, [&](std::string_view) { ++count; });
    counts.data<int64_t>()[i] = count;
    width = std::max(width, count);
    bytes += text.size();
  }
  Shape shape = x.shape();
  shape.push_back(width);
  Tensor parts = charged(Tensor(DType::string, shape), bytes);
  for (int64_t i = 0; i < x.numel(); ++i) {
    auto* to = parts.data<std::string>() + i * width;
    each_part(x.data<std::string>()[i], delimiter, most,
              [&](std::string_view part) { *to++ = part; });
  }
  return {parts, counts};
}

std::string in_case(const std::string& text, bool upper) {
  std::string out;
  for (char32_t c : decode_utf8(text)) {
    const auto code = static_cast<utf8proc_int32_t>(c);
    append_utf8(out,
                static_cast<char32_t>(upper ? utf8proc_toupper(code) : utf8proc_tolower(code)));
  }
  return out;
}

std::vector<Tensor> run_normalize(const Attrs& attrs, Inputs in, const RunBlock&) {
  const Tensor& x = strings_of(in);
  const size_t rank = x.shape().rank();
  if (rank == 0 || rank > 2 || (rank == 2 && x.shape()[0] != 1))
    fail(Code::refused, "the strings are ", x.spec().str(), ", [n] or [1, n] is wanted");
  const bool exact = attrs.i("is_case_sensitive", 0) != 0;
  const std::string action = attrs.s("case_change_action", "NONE");
  if (action != "NONE" && action != "UPPER" && action != "LOWER")
    fail(Code::unsupported, "case_change_action '", action, "'");
  std::set<std::string> stops;
  for (const std::string& word : attrs.strings("stopwords"))
    stops.insert(exact ? word : in_case(word, false));
  std::vector<std::string> kept;
  size_t bytes = 0;
  for (const std::string& word : x.values<std::string>()) {
    if (stops.contains(exact ? word : in_case(word, false))) continue;
    kept.push_back(action == "NONE" ? word : in_case(word, action == "UPPER"));
    bytes += kept.back().size();
  }
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  Tensor y = charged(Tensor(DType::string, rank == 1 ? Shape{count} : Shape{1, count}), bytes);
  std::ranges::move(kept, y.data<std::string>());
  return {y};
}

void onnx_split(ImportNode& n) {
  const Vars out = apply(*find_op("string_split"), {n.need(0)}, n.attrs, 2);
  n.out(0, out[0]);
  n.out(1, out[1]);
}

}  // namespace

extern const std::vector<OpDef> strings_ops = {
    {.name = "string_concat",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_concat,
     .forward = forward_concat,
     .strings = true,
     .imports = {{"onnx:StringConcat", onnx_same<"string_concat">}}},
    {.name = "string_split",
     .outputs = 2,
     .infer = infer_from_text,
     .run = run_split,
     .strings = true,
     .imports = {{"onnx:StringSplit", onnx_split}}},
    {.name = "string_normalize",
     .infer = infer_from_text,
     .run = run_normalize,
     .strings = true,
     .imports = {{"onnx:StringNormalizer", onnx_same<"string_normalize">}}},
};

}  // namespace hub
