// transpose(x): dimension i of the result is dimension perm[i] of x; without `perm` they are
// reversed.
#include <numeric>

#include "runtime/ops/grad.h"
#include "runtime/ops/ncnn_import.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/tflite_import.h"

namespace hub {
namespace {

std::vector<size_t> order(const Attrs& attrs, size_t rank) {
  if (attrs.has("perm")) {
    const auto perm = attrs.ints("perm");
    if (perm.size() != rank)
      fail(Code::refused, "perm names ", perm.size(), " of ", rank, " dimensions");
    return axes_of(perm, rank);
  }
  std::vector<size_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), size_t{0});
  return reversed;
}

std::vector<Spec> infer_transpose(const Infer& in) {
  const Shape& from = in.in(0).shape;
  Shape to;
  for (size_t d : order(in.attrs, from.rank())) to.push_back(from[d]);
  return {{in.in(0).dtype, to}};
}

void forward_transpose(const Call& call) {
  const Strides from = strides_of(call.x(0).shape());
  Strides strides{};
  size_t i = 0;
  for (size_t d : order(call.attrs, call.x(0).shape().rank())) strides[i++] = from[d];
  copy_strided(call.x(0), 0, strides, call.y());
}

void grad_transpose(Grad& g) {
  if (!g.attrs.has("perm")) return g.dx(0, apply("transpose", {g.dy()}));
  const auto perm = g.attrs.ints("perm");
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back.at(axis_of(perm[i], perm.size())) = static_cast<int64_t>(i);
  g.dx(0, transpose(g.dy(), back));
}

void paddle_transpose(ImportNode& n) {
  n.out("Out", apply("transpose", {n.need("X")}, {{"perm", n.attrs.ints("axis")}}));
}

/// Its own rules, and those of TensorFlow Lite, where most operators need one, and of ncnn.
std::vector<Import> imports() {
  std::vector<Import> all = {{"onnx:Transpose", onnx_same<"transpose">},
                             {"paddle:transpose", paddle_transpose},
                             {"paddle:transpose2", paddle_transpose}};
  all.insert(all.end(), tflite_imports().begin(), tflite_imports().end());
  all.insert(all.end(), ncnn_imports().begin(), ncnn_imports().end());
  return all;
}

}  // namespace

extern const OpDef transpose_op = {
    .name = "transpose",
    .infer = infer_transpose,
    .forward = forward_transpose,
    .grad = grad_transpose,
    .strings = true,
    .imports = imports(),
};

}  // namespace hub
