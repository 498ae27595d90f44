// eye_like(x) k (0), to (x's type): a matrix of x's size with ones on its k-th diagonal.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_eye_like(const Infer& in) {
  if (in.in(0).shape.rank() != 2)
    fail(Code::refused, "input 0 is ", in.in(0).str(), ": a matrix is wanted");
  const DType to = in.attrs.has("to") ? dtype_named(in.attrs.s("to")) : in.in(0).dtype;
  if (!one_of_types(Everything{}, to))
    fail(Code::unsupported, "ones of type '", in.attrs.s("to", name_of(to)), "'");
  return {{to, in.in(0).shape}};
}

void forward_eye_like(const Call& call) {
  const int64_t rows = call.y().shape()[0];
  const int64_t columns = call.y().shape()[1];
  const int64_t k = std::clamp(call.attrs.i("k", 0), -rows, columns);
  dispatch(Everything{}, call.y().dtype(), [&]<class T>() {
    T* y = call.y().data<T>();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) *y++ = convert<T>(c - r == k ? 1.0F : 0.0F);
  });
}

void onnx_eye_like(ImportNode& n) {
  Attrs attrs{{"k", n.attrs.i("k", 0)}};
  if (n.attrs.has("dtype")) attrs.set("to", std::string(name_of(onnx_type(n, "dtype"))));
  n.out(0, apply("eye_like", {n.need(0)}, attrs));
}

}  // namespace

extern const OpDef eye_like_op = {.name = "eye_like",
                                  .spec_only = 0b1,
                                  .infer = infer_eye_like,
                                  .forward = forward_eye_like,
                                  .grad = zero_gradient,
                                  .imports = {{"onnx:EyeLike", onnx_eye_like}}};

}  // namespace hub
