// shape(x): the dimensions [start, end) of x as int64 (attributes count from the back when negative
// and are limited to the rank); size(x): the number of elements as an int64 scalar. Both read only
// the type and shape of x.
#include <algorithm>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::pair<int64_t, int64_t> bounds(const Attrs& attrs, size_t dims) {
  const auto rank = static_cast<int64_t>(dims);
  auto limited = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = limited(attrs.i("start", 0));
  return {start, std::max(start, limited(attrs.i("end", rank)))};
}

std::vector<Spec> infer_shape(const Infer& in) {
  const auto [start, end] = bounds(in.attrs, in.in(0).shape.rank());
  return {{DType::i64, {end - start}}};
}
void forward_shape(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const auto [start, end] = bounds(call.attrs, shape.rank());
  std::copy(shape.begin() + start, shape.begin() + end, call.y().data<int64_t>());
}

std::vector<Spec> infer_size(const Infer& in) {
  in.in(0);
  return {{DType::i64, {}}};
}
void forward_size(const Call& call) { *call.y().data<int64_t>() = call.x(0).numel(); }

void paddle_shape(ImportNode& n) {
  n.out("Out", apply("cast", {apply("shape", {n.need("Input")})}, {{"to", "int32"}}));
}
void paddle_size(ImportNode& n) { n.out("Out", apply("size", {n.need("Input")})); }

}  // namespace

extern const OpDef shape_op = {
    .name = "shape",
    .spec_only = 0b1,
    .infer = infer_shape,
    .forward = forward_shape,
    .settings = 0b1,
    .imports = {{"onnx:Shape", onnx_same<"shape">}, {"paddle:shape", paddle_shape}},
};

extern const OpDef size_op = {
    .name = "size",
    .spec_only = 0b1,
    .infer = infer_size,
    .forward = forward_size,
    .settings = 0b1,
    .imports = {{"onnx:Size", onnx_same<"size">}, {"paddle:size", paddle_size}},
};

}  // namespace hub
