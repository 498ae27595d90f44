// Calls of the numeric operators of ONNX that cannot be what they say.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "runtime/op.h"
#include "tests/runtime/op_cases.h"

namespace hub {

TEST_CASE("settings that make no sense are refused, not computed") {
  const Tensor x = noise({2, 3});
  const Tensor picture = noise({1, 2, 4, 4});
  const Tensor box = f({1, 4}, {0, 0, 2, 2});
  const Tensor huge = f({1, 4}, {0, 0, 1e30F, 2});
  const std::vector<int64_t> two{2, 2}, wide{int64_t{1} << 30, int64_t{1} << 30};
  const std::vector<OpCase> rows = {
      {"det", {}, {x}, {}},
      {"det_grad", {}, {noise({2, 2, 2}), noise({3})}, {}},
      {"eye_like", {}, {noise({3})}, {}},
      {"eye_like", {{"to", "string"}}, {x}, {}},
      {"einsum", {{"equation", "ij"}}, {x, x}, {}},
      {"einsum", {{"equation", "ijk->"}}, {x}, {}},
      {"einsum", {{"equation", "ij->k"}}, {x}, {}},
      {"einsum", {{"equation", "ij->ii"}}, {x}, {}},
      {"einsum", {{"equation", "i1->i"}}, {x}, {}},
      {"einsum", {{"equation", "ij,jk->"}}, {x, x}, {}},
      {"einsum_grad", {{"equation", "ij->"}, {"input", int64_t{1}}}, {f(1), x}, {}},
      {"max_unpool", {}, {noise({1, 1, 1}), i({1, 1, 1}, {4}), i({4})}, {}},
      {"max_unpool", {}, {noise({1, 1, 1}), i({1, 1, 1}, {-1}), i({4})}, {}},
      {"max_unpool", {}, {noise({1, 1, 1}), i({1, 1, 1}, {0}), i({-4})}, {}},
      {"grid_sample", {}, {picture, noise({1, 2, 2, 3})}, {}},
      {"grid_sample", {}, {noise({1, 1, 0, 2}), noise({1, 1, 1, 2})}, {}},
      {"grid_sample", {{"mode", "best"}}, {picture, noise({1, 2, 2, 2})}, {}},
      {"roi_align", {{"output_height", int64_t{0}}}, {picture, box, i({0})}, {}},
      {"roi_align", {{"sampling_ratio", int64_t{-1}}}, {picture, box, i({0})}, {}},
      {"roi_align", {}, {picture, box, i({1})}, {}},
      {"roi_align", {}, {picture, huge, i({0})}, {}},
      {"reverse_sequence", {{"time_axis", int64_t{1}}}, {x, i({1, 1, 1})}, {}},
      {"reverse_sequence", {}, {x, i({1, 1, 3})}, {}},
      {"im2col", {}, {picture, i({5, 5})}, {}},
      {"im2col", {}, {picture, i({0, 1})}, {}},
      {"im2col", {{"strides", std::vector<int64_t>{0, 1}}}, {picture, i({2, 2})}, {}},
      {"im2col", {{"pads", std::vector<int64_t>(4, 1 << 30)}}, {picture, i(two)}, {}},
      {"col2im", {}, {noise({1, 4, 8}), i({4, 4}), i(two)}, {}},
      {"col2im", {}, {noise({1, 5, 9}), i({4, 4}), i(two)}, {}},
      {"deform_im2col", {{"kernel", two}}, {picture, noise({1, 7, 3, 3})}, {}},
      {"deform_im2col", {{"kernel", wide}}, {picture, noise({1, 8, 3, 3})}, {}},
      {"dft", {{"axis", int64_t{1}}}, {x}, {}},
      {"dft", {}, {noise({1, 4, 1}), i({0})}, {}},
      {"dft", {}, {noise({1, 4, 1}), i({int64_t{1} << 40})}, {}},
      {"dft", {}, {noise({1, 4, 1}), i({16777213})}, {}},
      {"mel_weight_matrix", {}, {i({2}), i({16}), i({0}), f(0), f(4000)}, {}},
      {"mel_weight_matrix", {}, {i({2}), i({16}), i({8000}), f(-800), f(4000)}, {}},
      {"random_uniform", {}, {i({-1})}, {}},
      {"random_uniform", {{"to", "int64"}}, {i({1})}, {}},
      {"multinomial", {{"samples", int64_t{-1}}}, {x}, {}},
      {"quantize", {{"block_size", int64_t{-1}}}, {x, noise({2, 2})}, {}},
      {"quantize", {{"to", "float32"}}, {x, f(1)}, {}},
      {"lookup", {}, {x, noise({2}), i({1, 2, 3}), i({0})}, {}},
  };
  for (const OpCase& c : rows) {
    INFO(c.op << ", first input " << c.in[0].spec().str());
    std::vector<const Tensor*> in;
    for (const Tensor& t : c.in) in.push_back(&t);
    CHECK_THROWS_AS(run_reference(*find_op(c.op), c.attrs, in), Error);
  }
}

}  // namespace hub
