// YOLOv8's decoder and the choice among boxes of all labels, on made outputs.
#include <catch2/catch.hpp>

#include "modules/detection.h"
#include "tests/error_of.h"

using namespace hub;

namespace {

constexpr size_t labels = 2;

/// float32[1, 6, cells]: x, y, width, height and two scores a column.
Tensor output_of(const std::vector<std::vector<float>>& cells) {
  Tensor tensor(DType::f32, {1, 4 + labels, static_cast<int64_t>(cells.size())});
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    for (size_t i = 0; i < 4 + labels; ++i)
      tensor.data<float>()[i * cells.size() + cell] = cells[cell][i];
  }
  return tensor;
}

std::vector<Detection> decoded(const Tensor& tensor, size_t row = 0) {
  return decode_yolov8({{&tensor, 1}, row, 320, 320, labels, 0.25});
}

}  // namespace

TEST_CASE("YOLOv8: the best label of each cell above the threshold") {
  const auto found = decoded(output_of(
      {{50, 60, 20, 40, 0.3F, 0.9F}, {52, 60, 20, 40, 0.8F, 0.1F}, {9, 9, 4, 4, 0.25F, 0.1F}}));
  REQUIRE(found.size() == 2);
  CHECK(found[0].label == 1);
  CHECK(found[0].score == 0.9F);
  CHECK(found[0].left == 40);
  CHECK(found[0].top == 40);
  CHECK(found[0].right == 60);
  CHECK(found[0].bottom == 80);
  CHECK(without_overlaps(found, 0.45).size() == 2);
  const auto one = without_overlaps(found, 0.45, true);
  REQUIRE(one.size() == 1);
  CHECK(one[0].label == 1);
}

TEST_CASE("YOLOv8: outputs of another shape and what is no number are refused") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor good = output_of({{50, 60, 20, 40, 0.3F, 0.9F}});
  CHECK_THAT(error_of(Code::refused, [&] { decoded(good, 1); }), Catch::Contains("[2, 6, cells]"));
  CHECK_THAT(error_of(Code::refused,
                      [] {
                        decoded(Tensor(DType::f32, {1, 5, 1}));
                      }),
             Catch::Contains("float32[1, 5, 1]"));
  CHECK_THAT(error_of(Code::refused,
                      [] {
                        decode_yolov8({{}, 0, 320, 320, labels, 0.25});
                      }),
             Catch::Contains("nothing"));
  error_of(Code::numeric, [&] { decoded(output_of({{50, nan, 20, 40, 0.3F, 0.9F}})); });
  error_of(Code::numeric, [&] { decoded(output_of({{50, 60, 20, 40, 0.3F, nan}})); });
}
