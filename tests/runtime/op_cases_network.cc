// Rows of the neural-network operators.
#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

using List = std::vector<int64_t>;

std::vector<OpCase> window_cases() {
  const Tensor square = f({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor pair = f({1, 1, 2, 2}, {1, 0, 0, 1});
  const Attrs same{{"pads", List{1, 1, 1, 1}}};
  return {
      {"conv", {}, {square, pair}, {f({1, 1, 2, 2}, {6, 8, 12, 14})}},
      {"conv",
       {{"pads", List{1, 0, 0, 0}}, {"strides", List{2, 1}}},
       {square, pair, f({1}, {0.5F})},
       {f({1, 1, 2, 2}, {2.5F, 3.5F, 12.5F, 14.5F})}},
      {"conv", {{"dilations", List{2, 2}}}, {square, pair}, {f({1, 1, 1, 1}, {10})}},
      {"conv",
       {{"group", int64_t{2}}},
       {f({1, 2, 1, 1}, {3, 5}), f({2, 1, 1, 1}, {2, -1})},
       {f({1, 2, 1, 1}, {6, -5})}},
      {"conv",
       {{"post", std::vector<std::string>{"sum", "relu"}},
        {"post_args", std::vector<double>{0, 0, 0, 0}}},
       {square, pair, {}, f({1, 1, 2, 2}, {-10, -8, -6, -4})},
       {f({1, 1, 2, 2}, {0, 0, 6, 10})}},
      {"conv",
       {{"pads", List{1, 0}}},
       {f({1, 1, 3}, {1, 2, 3}), f({1, 1, 2}, {1, 10})},
       {f({1, 1, 3}, {10, 21, 32})}},
      {"conv", same, {noise({2, 8, 9, 7}, 1), noise({16, 8, 3, 3}, 2), noise({16}, 3)}, {}},
      {"conv",
       {{"strides", List{2, 2}}, {"pads", List{0, 1, 2, 1}}},
       {noise({1, 3, 17, 13}, 1), noise({5, 3, 3, 3}, 2)},
       {}},
      {"conv",
       {{"pads", List{2, 2, 2, 2}}, {"group", int64_t{24}}},
       {noise({1, 24, 11, 7}, 1), noise({24, 1, 5, 5}, 2), noise({24}, 3)},
       {}},
      {"conv", {{"group", int64_t{2}}}, {noise({1, 6, 5, 5}, 1), noise({4, 3, 1, 1}, 2)}, {}},
      {"conv", {}, {noise({3, 65, 8, 8}, 1), noise({33, 65, 1, 1}, 2), noise({33}, 3)}, {}},
      {"conv_transpose",
       {},
       {pair, f({1, 1, 2, 2}, {1, 2, 3, 4})},
       {f({1, 1, 3, 3}, {1, 2, 0, 3, 5, 2, 0, 3, 4})}},
      {"conv_transpose",
       {{"strides", List{2, 2}}},
       {pair, f({1, 1, 2, 2}, {1, 2, 3, 4}), f({1}, {1})},
       {f({1, 1, 4, 4}, {2, 3, 1, 1, 4, 5, 1, 1, 1, 1, 2, 3, 1, 1, 4, 5})}},
      {"conv_transpose",
       {{"strides", List{2, 2}}, {"pads", List{1, 1, 1, 1}}, {"output_padding", List{1, 1}}},
       {noise({1, 6, 5, 7}, 1), noise({6, 4, 3, 3}, 2)},
       {}},
      {"pool",
       {{"kind", "avg"}, {"kernel", List{2, 2}}},
       {square},
       {f({1, 1, 2, 2}, {3, 4, 6, 7})}},
      {"pool",
       {{"kind", "avg"},
        {"kernel", List{2, 2}},
        {"pads", List{1, 1, 0, 0}},
        {"strides", List{2, 2}}},
       {square},
       {f({1, 1, 2, 2}, {1, 2.5F, 5.5F, 7})}},
      {"pool", {{"kind", "avg"}, {"global", int64_t{1}}}, {square}, {f({1, 1, 1, 1}, {5})}},
      {"pool",
       {{"kind", "max"},
        {"kernel", List{3, 3}},
        {"strides", List{2, 2}},
        {"pads", List{1, 1, 1, 1}}},
       {noise({2, 9, 13, 7})},
       {}},
      {"pool",
       {{"kind", "avg"},
        {"kernel", List{3, 3}},
        {"strides", List{2, 2}},
        {"ceil_mode", int64_t{1}}},
       {noise({1, 8, 10, 8})},
       {}},
      {"pool", {{"kind", "avg"}, {"global", int64_t{1}}}, {noise({2, 19, 7, 5})}, {}},
      {"pool", {{"kind", "avg"}, {"adaptive", List{3, 2}}}, {noise({1, 4, 7, 5})}, {}},
      {"resize",
       {{"mode", "nearest"}},
       {pair, {}, f({4}, {1, 1, 2, 1})},
       {f({1, 1, 4, 2}, {1, 0, 1, 0, 0, 1, 0, 1})}},
      {"resize",
       {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}},
       {f({1, 1, 1, 2}, {0, 2}), {}, {}, i({1, 1, 1, 3})},
       {f({1, 1, 1, 3}, {0, 1, 2})}},
      {"resize", {{"mode", "linear"}}, {noise({1, 3, 7, 5}), {}, {}, i({1, 3, 13, 11})}, {}},
      {"depth_to_space",
       {{"blocksize", int64_t{2}}},
       {f({1, 4, 1, 1}, {1, 2, 3, 4})},
       {f({1, 1, 2, 2}, {1, 2, 3, 4})}},
      {"space_to_depth",
       {{"blocksize", int64_t{2}}},
       {f({1, 1, 2, 2}, {1, 2, 3, 4})},
       {f({1, 4, 1, 1}, {1, 2, 3, 4})}},
  };
}

std::vector<OpCase> norm_cases() {
  const Tensor x = f({1, 2, 4}, {1, 2, 3, 6, 0, 0, 1, 1});
  const Tensor ones = f({2}, {1, 1});
  const Tensor zeros = f({2}, {0, 0});
  return {
      {"batch_norm",
       {{"epsilon", 0.0}},
       {f({1, 2, 2}, {1, 2, 3, 4}), f({2}, {2, 1}), f({2}, {0, 10}), f({2}, {1, 3}),
        f({2}, {4, 0.25F})},
       {f({1, 2, 2}, {0, 1, 10, 12})}},
      {"batch_norm",
       {{"epsilon", 1e-3}},
       {noise({2, 5, 7, 3}, 1), noise({5}, 2), noise({5}, 3), noise({5}, 4),
        f({5}, {1, 2, 3, 0.5F, 0.1F})},
       {}},
      {"instance_norm",
       {{"epsilon", 1e-5}},
       {x, ones, zeros},
       {f({1, 2, 4},
          {-1.0690434F, -0.5345217F, 0, 1.6035652F, -0.99998F, -0.99998F, 0.99998F, 0.99998F})}},
      {"group_norm",
       {{"epsilon", 1e-5}, {"groups", int64_t{1}}},
       {x, ones, zeros},
       {f({1, 2, 4}, {-0.4045193F, 0.1348398F, 0.6741989F, 2.2922762F, -0.9438784F, -0.9438784F,
                      -0.4045193F, -0.4045193F})}},
      {"layer_norm",
       {{"epsilon", 1e-5}},
       {f({1, 4}, {1, 2, 3, 6}), f({4}, {1, 1, 1, 2}), f({4}, {0, 0, 1, 0})},
       {f({1, 4}, {-1.0690434F, -0.5345217F, 1, 3.2071303F}), f({1, 1}, {3}),
        f({1, 1}, {0.5345217F})}},
      {"layer_norm",
       {{"epsilon", 1e-5}},
       {noise({2, 5, 33}, 1), noise({33}, 2), noise({33}, 3)},
       {}},
      {"lrn",
       {{"size", int64_t{3}}, {"alpha", 0.3}, {"beta", 0.5}, {"bias", 1.0}},
       {f({1, 3, 1}, {1, 2, 3})},
       {f({1, 3, 1}, {0.8164966F, 1.2909945F, 1.9781414F})}},
      {"softmax", {}, {f({1, 3}, {1, 2, 3})}, {f({1, 3}, {0.0900306F, 0.2447285F, 0.6652410F})}},
      {"softmax", {{"axis", int64_t{1}}}, {noise({2, 7, 5})}, {}},
      {"softmax", {{"axis", int64_t{-1}}}, {noise({3, 4, 129})}, {}},
      {"log_softmax",
       {},
       {f({1, 3}, {1, 2, 3})},
       {f({1, 3}, {-2.4076060F, -1.4076060F, -0.4076060F})}},
      {"hardmax", {}, {f({2, 3}, {1, 3, 3, 2, 0, 1})}, {f({2, 3}, {0, 1, 0, 1, 0, 0})}},
      {"matmul", {}, {f({2, 2}, {1, 2, 3, 4}), f({2, 1}, {10, 100})}, {f({2, 1}, {210, 430})}},
      {"matmul", {}, {f({2}, {1, 2}), f({2}, {3, 4})}, {f(11)}},
      {"matmul",
       {{"trans_b", int64_t{1}}, {"alpha", 2.0}},
       {f({1, 2}, {1, 2}), f({1, 2}, {3, 4}), f({1}, {0.5F})},
       {f({1, 1}, {22.5F})}},
      {"matmul",
       {{"post", std::vector<std::string>{"gelu"}}, {"post_args", std::vector<double>{0, 0}}},
       {noise({5, 33}, 1), noise({33, 17}, 2), noise({17}, 3)},
       {}},
      {"matmul", {{"trans_a", int64_t{1}}}, {noise({2, 1, 9, 5}, 1), noise({3, 9, 7}, 2)}, {}},
      {"matmul", {{"trans_b", int64_t{1}}}, {noise({13, 65}, 1), noise({31, 65}, 2)}, {}},
      {"attention",
       {{"heads", int64_t{1}}},
       {f({1, 2, 2}, {1, 0, 0, 1}), f({1, 2, 2}, {1, 1, 0, 2}), f({1, 2, 2}, {1, 2, 3, 4})},
       {f({1, 2, 2}, {1.6604769F, 2.6604769F, 2.3395231F, 3.3395231F})}},
      {"attention",
       {{"heads", int64_t{1}}},
       {f({1, 1, 2}, {1, 0}), f({1, 2, 2}, {1, 1, 0, 2}), f({1, 2, 2}, {1, 2, 3, 4}),
        f({1, 2}, {0, 1})},
       {f({1, 1, 2}, {3, 4})}},
      {"attention",
       {{"heads", int64_t{3}}},
       {noise({2, 9, 12}, 1), noise({2, 9, 12}, 2), noise({2, 9, 12}, 3)},
       {}},
  };
}

std::vector<OpCase> activation_cases() {
  const Tensor x = f({3}, {-1, 0, 2});
  std::vector<OpCase> c = {
      {"leaky_relu", {{"alpha", 0.1}}, {x}, {f({3}, {-0.1F, 0, 2})}},
      {"elu", {}, {x}, {f({3}, {-0.6321206F, 0, 2})}},
      {"selu", {}, {x}, {f({3}, {-1.1113307F, 0, 2.1014020F})}},
      {"celu", {{"alpha", 2.0}}, {x}, {f({3}, {-0.7869387F, 0, 2})}},
      {"thresholded_relu", {{"alpha", 1.5}}, {x}, {f({3}, {0, 0, 2})}},
      {"hard_sigmoid", {{"alpha", 0.5}, {"beta", 0.5}}, {x}, {f({3}, {0, 0.5F, 1})}},
      {"swish", {}, {x}, {f({3}, {-0.2689414F, 0, 1.7615942F})}},
      {"shrink", {{"lambd", 1.5}, {"bias", 1.0}}, {x}, {f({3}, {0, 0, 1})}},
      {"mish", {}, {x}, {f({3}, {-0.3034015F, 0, 1.9439590F})}},
      {"prelu",
       {},
       {f({2, 2}, {-1, 2, -3, -4}), f({2}, {0.5F, 2})},
       {f({2, 2}, {-0.5F, 2, -1.5F, -8})}},
  };
  for (std::string_view op : {"leaky_relu", "elu", "hard_sigmoid", "swish"})
    c.push_back({op, {}, {noise({2, 3, 7, 5})}, {}});
  return c;
}

}  // namespace

std::vector<OpCase> network_cases() {
  std::vector<OpCase> c;
  for (auto part : {window_cases, norm_cases, activation_cases}) {
    for (OpCase& row : part()) c.push_back(std::move(row));
  }
  return c;
}

}  // namespace hub
