// Rows of the operators on lists and strings.
#include <cmath>

#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

Tensor s(const Shape& shape, std::vector<std::string> values) {
  return Tensor::strings(shape, std::move(values));
}
Tensor number(int64_t value) { return i({value}).reshaped({}); }
Tensor truth(bool value) { return t<bool>({}, {value}); }

std::vector<OpCase> of_lists() {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor a = f({2}, {1, 2});
  const Tensor b = i({3});
  const Tensor c = s({1}, {"c"});
  const Tensor ab = Tensor::list({a, b});
  const Attrs along_1{{"axis", int64_t{1}}};
  return {
      {"list_make", {}, {a, b}, {ab}},
      {"list_make", {}, {}, {Tensor::list({})}},
      {"list_length", {}, {ab}, {number(2)}},
      {"list_at", {}, {ab, number(1)}, {b}},
      {"list_at", {}, {ab, number(-2)}, {a}},
      {"list_at", {{"whole", int64_t{1}}}, {a, number(1)}, {a}},
      {"list_insert", {}, {ab, c}, {Tensor::list({a, b, c})}},
      {"list_insert", {}, {ab, c, number(-2)}, {Tensor::list({c, a, b})}},
      {"list_insert", {}, {ab, c, number(2)}, {Tensor::list({a, b, c})}},
      {"list_erase", {}, {ab}, {Tensor::list({a})}},
      {"list_erase", {}, {ab, number(0)}, {Tensor::list({b})}},
      {"list_write", {}, {ab, number(1), c}, {Tensor::list({a, c})}},
      {"list_write", {}, {{}, number(0), c}, {Tensor::list({c})}},
      {"list_concat",
       {{"axis", int64_t{0}}},
       {Tensor::list({a, f({1}, {3})})},
       {f({3}, {1, 2, 3})}},
      {"list_concat",
       {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}},
       {Tensor::list({a, f({2}, {3, 4})})},
       {f({2, 2}, {1, 3, 2, 4})}},
      {"list_split", {}, {x}, {Tensor::list({f({1, 3}, {1, 2, 3}), f({1, 3}, {4, 5, 6})})}},
      {"list_split",
       {{"keepdims", int64_t{0}}},
       {x},
       {Tensor::list({f({3}, {1, 2, 3}), f({3}, {4, 5, 6})})}},
      {"list_split",
       along_1,
       {x, number(2)},
       {Tensor::list({f({2, 2}, {1, 2, 4, 5}), f({2, 1}, {3, 6})})}},
      {"list_split",
       along_1,
       {x, i({1, 2})},
       {Tensor::list({f({2, 1}, {1, 4}), f({2, 2}, {2, 3, 5, 6})})}},
      {"identity", {}, {ab}, {ab}},
      {"optional_open", {}, {Tensor::list({a})}, {a}},
      {"optional_close", {}, {a}, {Tensor::list({a})}},
      {"optional_close", {}, {Tensor::list({Tensor()})}, {Tensor::list({})}},
      {"optional_none", {}, {}, {Tensor::list({Tensor()})}},
      {"optional_has", {}, {Tensor::list({})}, {truth(true)}},
      {"optional_has", {}, {Tensor::list({Tensor()})}, {truth(false)}},
      {"optional_get", {}, {ab}, {ab}},
  };
}

std::vector<OpCase> of_strings() {
  const Tensor words = s({2, 2}, {"a", "b", "c", "d"});
  const Attrs to_text{{"to", "string"}};
  const Attrs pool{{"mode", "TF"},
                   {"min_gram_length", int64_t{1}},
                   {"max_gram_length", int64_t{2}},
                   {"max_skip_count", int64_t{1}},
                   {"ngram_counts", std::vector<int64_t>{0, 2}},
                   {"ngram_indexes", std::vector<int64_t>{0, 3, 1}},
                   {"weights", std::vector<double>{1, 2, 0.5}}};
  Attrs numbers = pool, text = pool, both = pool;
  numbers.set("pool_int64s", std::vector<int64_t>{7, 8, 7, 9});
  text.set("pool_strings", std::vector<std::string>{"a", "b", "a", "c"});
  text.set("mode", "IDF");
  both.set("pool_strings", std::vector<std::string>{"a", "b", "a", "c"});
  both.set("mode", "TFIDF");
  return {
      {"cast",
       to_text,
       {f({5}, {1, -0.1F, 1e-5F, 1e20F, INFINITY})},
       {s({5}, {"1.0", "-0.1", "1e-05", "1e+20", "inf"})}},
      {"cast", to_text, {t<double>({2}, {0.1, 123456789})}, {s({2}, {"0.1", "123456789.0"})}},
      {"cast", to_text, {i({-12})}, {s({1}, {"-12"})}},
      {"cast",
       {{"to", "float32"}},
       {s({4}, {"3.5", " 1e3", "-INF", "+7"})},
       {f({4}, {3.5F, 1000, -INFINITY, 7})}},
      {"cast",
       {{"to", "int64"}},
       {s({3}, {"9007199254740993", "100.5", "-1"})},
       {i({9007199254740993, 100, -1})}},
      {"equal", {}, {words, s({2}, {"a", "d"})}, {t<bool>({2, 2}, {true, false, false, true})}},
      {"transpose", {}, {words}, {s({2, 2}, {"a", "c", "b", "d"})}},
      {"reshape", {}, {words, i({4})}, {s({4}, {"a", "b", "c", "d"})}},
      {"gather", {{"axis", int64_t{1}}}, {words, i({1})}, {s({2, 1}, {"b", "d"})}},
      {"gather_nd", {}, {words, i({1, 2}, {1, 0})}, {s({1}, {"c"})}},
      {"slice", {}, {words, i({1}), i({2})}, {s({1, 2}, {"c", "d"})}},
      {"concat",
       {{"axis", int64_t{1}}},
       {words, s({2, 1}, {"x", "y"})},
       {s({2, 3}, {"a", "b", "x", "c", "d", "y"})}},
      {"expand",
       {},
       {s({1}, {"a longer word than fits"}), i({2})},
       {s({2}, {"a longer word than fits", "a longer word than fits"})}},
      {"tile", {}, {s({1}, {"a"}), i({2})}, {s({2}, {"a", "a"})}},
      {"where",
       {},
       {t<bool>({2}, {true, false}), s({1}, {"x"}), s({2}, {"y", "z"})},
       {s({2}, {"x", "z"})}},
      {"scatter_nd",
       {},
       {words, i({1, 1}, {1}), s({1, 2}, {"x", "y"})},
       {s({2, 2}, {"a", "b", "x", "y"})}},
      {"shape", {}, {words}, {i({2, 2})}},
      {"string_concat", {}, {words, s({2, 1}, {"1", "2"})}, {s({2, 2}, {"a1", "b1", "c2", "d2"})}},
      {"string_split",
       {},
       {s({2}, {" a  b c", ""})},
       {s({2, 3}, {"a", "b", "c", "", "", ""}), i({3, 0})}},
      {"string_split",
       {{"delimiter", ","}, {"maxsplit", int64_t{1}}},
       {s({2}, {"a,,b", ""})},
       {s({2, 2}, {"a", ",b", "", ""}), i({2, 1})}},
      {"string_normalize",
       {{"case_change_action", "UPPER"}, {"stopwords", std::vector<std::string>{"b"}}},
       {s({3}, {"a", "B", "é"})},
       {s({2}, {"A", "É"})}},
      {"string_normalize",
       {{"is_case_sensitive", int64_t{1}}, {"stopwords", std::vector<std::string>{"a"}}},
       {s({1, 1}, {"a"})},
       {s({1, 1}, {""})}},
      {"regex_full_match",
       {{"pattern", "a|ab"}},
       {s({3}, {"a", "ab", "abc"})},
       {t<bool>({3}, {true, true, false})}},
      {"ngrams", numbers, {i({2, 3}, {7, 8, 9, 8, 7, 9})}, {f({2, 4}, {1, 1, 0, 1, 1, 1, 0, 1})}},
      {"ngrams", text, {s({4}, {"b", "a", "b", "c"})}, {f({4}, {1, 0.5F, 0, 2})}},
      {"ngrams", both, {s({4}, {"b", "a", "b", "c"})}, {f({4}, {1, 0.5F, 0, 4})}},
  };
}

}  // namespace

std::vector<OpCase> list_cases() {
  std::vector<OpCase> rows = of_lists();
  for (OpCase& c : of_strings()) rows.push_back(std::move(c));
  return rows;
}

}  // namespace hub
