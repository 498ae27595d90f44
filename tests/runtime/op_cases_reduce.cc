#include <cmath>

#include "tests/runtime/op_cases.h"

namespace hub {

std::vector<OpCase> reduce_cases() {
  const Tensor x = f({2, 3}, {1, -2, 3, 4, 5, -6});
  const Tensor deep = f({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const float nan = std::nanf("");
  const Attrs keep{{"keepdims", int64_t{1}}};
  const Attrs drop{{"keepdims", int64_t{0}}};
  auto axis = [](int64_t a) { return Attrs{{"axis", a}}; };
  std::vector<OpCase> c = {
      {"reduce_mean", {}, {x, i({1})}, {f({2, 1}, {0.6666667F, 1})}},
      {"reduce_mean", {}, {t<int32_t>({3}, {1, 2, 5})}, {t<int32_t>({1}, {2})}},
      {"reduce_sum", drop, {x}, {f(5)}},
      {"reduce_sum", drop, {deep, i({0, 2})}, {f({2}, {14, 22})}},
      {"reduce_sum", keep, {deep, i({-2})}, {f({2, 1, 2}, {4, 6, 12, 14})}},
      {"reduce_sum", {{"noop_with_empty_axes", int64_t{1}}}, {x}, {x}},
      {"reduce_max", drop, {x, i({0})}, {f({3}, {4, 5, 3})}},
      {"reduce_max", drop, {f({2, 2}, {1, nan, 2, 3}), i({1})}, {f({2}, {nan, 3})}},
      {"reduce_max",
       drop,
       {t<bool>({2, 2}, {false, true, false, false}), i({1})},
       {t<bool>({2}, {true, false})}},
      {"reduce_min", drop, {x, i({1})}, {f({2}, {-2, -6})}},
      {"reduce_min", drop, {t<uint8_t>({3}, {9, 250, 7})}, {t<uint8_t>({}, {7})}},
      {"reduce_prod", drop, {x, i({1})}, {f({2}, {-6, -120})}},
      {"reduce_l1", drop, {x, i({1})}, {f({2}, {6, 15})}},
      {"reduce_l2", drop, {x, i({1})}, {f({2}, {3.7416574F, 8.7749644F})}},
      {"reduce_log_sum",
       drop,
       {f({2, 2}, {1, 2, 3, 4}), i({1})},
       {f({2}, {1.0986123F, 1.9459101F})}},
      {"reduce_log_sum_exp",
       drop,
       {f({2, 2}, {0, 1, 1000, 1000}), i({1})},
       {f({2}, {1.3132617F, 1000.6931F})}},
      {"reduce_sum_square", drop, {x, i({1})}, {f({2}, {14, 77})}},

      {"argmax", axis(1), {f({2, 3}, {1, 3, 3, 2, 0, 1})}, {i({2, 1}, {1, 0})}},
      {"argmax",
       {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}},
       {f({2, 3}, {1, 3, 3, 2, 0, 1})},
       {i({2, 0})}},
      {"argmin", axis(0), {f({2, 3}, {1, 3, 3, 2, 0, 3})}, {i({1, 3}, {0, 1, 0})}},
      {"topk",
       {},
       {f({1, 5}, {2, 7, 7, 1, 7}), i({3})},
       {f({1, 3}, {7, 7, 7}), i({1, 3}, {1, 2, 4})}},
      {"topk",
       {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
       {f({3, 2}, {2, 7, 0, 1, 2, 7}), i({2})},
       {f({2, 2}, {0, 1, 2, 7}), i({2, 2}, {1, 1, 0, 0})}},
      {"topk", {}, {f({4}, {1, nan, 3, 2}), i({2})}, {f({2}, {nan, 3}), i({1, 2})}},
      {"cumsum", {}, {x, i({1})}, {f({2, 3}, {1, -1, 2, 4, 9, 3})}},
      {"cumsum",
       {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
       {f({3}, {1, 2, 3}), i({0})},
       {f({3}, {5, 3, 0})}},

      {"nll_loss", {}, {x, i({2, 0})}, {f(-3.5F)}},
      {"nll_loss",
       {{"reduction", "none"}, {"ignore_index", int64_t{-1}}},
       {x, i({2, -1})},
       {f({2}, {-3, 0})}},
      {"nll_loss", {}, {x, i({2, 0}), f({3}, {3, 1, 1})}, {f(-3.75F)}},
      {"nll_loss", {{"reduction", "sum"}}, {deep, i({2, 2}, {0, 1, 1, 0})}, {f(-18)}},
      {"nll_loss",
       {{"reduction", "none"}},
       {deep, i({2, 2}, {0, 1, 1, 0})},
       {f({2, 2}, {-1, -4, -7, -6})}},
      {"nll_loss_grad",
       {{"ignore_index", int64_t{-1}}},
       {i({2, -1}), f(2), x, f({3}, {3, 1, 4})},
       {f({2, 3}, {0, 0, -2, 0, 0, 0})}},
      {"nll_loss_grad",
       {},
       {i({2, 0}), f(1), x, f({3}, {3, 1, 1})},
       {f({2, 3}, {0, 0, -0.25F, -0.75F, 0, 0})}},
      {"nll_loss_grad",
       {{"reduction", "none"}},
       {i({2, 2}, {0, 1, 1, 0}), f({2, 2}, {1, 2, 3, 4}), deep},
       {f({2, 2, 2}, {-1, 0, 0, -2, 0, -4, -3, 0})}},
      {"reduce_prod", keep, {f({2, 3}, {0, 2, 3, 4, 5, -6}), i({-1})}, {f({2, 1}, {0, -120})}},
      {"reduce_l1", {}, {noise({2, 3})}, {}},
      {"reduce_log_sum_exp", {}, {noise({2, 3, 4}), i({0, -1})}, {}},
  };
  for (std::string_view op : {"reduce_mean", "reduce_sum", "reduce_max", "reduce_l2"}) {
    c.push_back({op, {}, {noise({2, 5, 7, 9}), i({2, 3})}, {}});
    c.push_back({op, drop, {noise({2, 5, 33}), i({-1})}, {}});
    c.push_back({op, drop, {noise({3, 777}), i({1})}, {}});
    c.push_back({op, drop, {noise({2, 37, 300}), i({1})}, {}});
    c.push_back({op, keep, {noise({100, 1, 5}), i({0})}, {}});
    c.push_back({op, keep, {noise({3, 4, 5}), i({0, 2})}, {}});
  }
  return c;
}

}  // namespace hub
