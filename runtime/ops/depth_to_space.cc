// Pixels out of channels and back: depth_to_space(x) blocksize, mode "DCR" (depth first) or "CRD"
// (columns, rows, depth: pixel shuffle); space_to_depth(x), with the same attributes, undoes it. x
// is [N, C, H, W].
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// The block size, with which `whole` must be divisible.
int64_t block(const Infer& infer, int64_t whole) {
  const int64_t b = infer.attrs.i("blocksize");
  if (b < 1 || b > (1 << 8) || whole % b != 0)
    fail(Code::refused, "'blocksize' is ", b, " for ", infer.in(0).str());
  return b;
}

void check_picture(const Infer& infer) {
  if (infer.in(0).shape.rank() != 4)
    fail(Code::refused, "input 0 is ", infer.in(0).str(), "; [N, C, H, W] is wanted");
}

void check_mode(const Infer& infer) {
  const std::string mode = infer.attrs.s("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail(Code::unsupported, "'mode' is '", mode, "'");
}

std::vector<Spec> infer_to_space(const Infer& infer) {
  check_picture(infer);
  const Shape& x = infer.in(0).shape;
  const int64_t b = block(infer, x[1]);
  if (x[1] % (b * b) != 0) fail(Code::refused, "'blocksize' is ", b, " for ", x[1], " channels");
  check_mode(infer);
  return {{infer.in(0).dtype, {x[0], x[1] / (b * b), x[2] * b, x[3] * b}}};
}

std::vector<Spec> infer_to_depth(const Infer& infer) {
  check_picture(infer);
  const Shape& x = infer.in(0).shape;
  check_mode(infer);
  block(infer, x[2]);
  const int64_t b = block(infer, x[3]);
  return {{infer.in(0).dtype, {x[0], x[1] * b * b, x[2] / b, x[3] / b}}};
}

void forward_to_space(const Call& call) {
  const Shape& y = call.y().shape();
  const Shape& x = call.x(0).shape();
  const int64_t b = call.attrs.i("blocksize");
  const Strides s = strides_of(x);
  const bool depth_first = call.attrs.s("mode", "DCR") == "DCR";
  // Channel of x: (row in the block, column in the block, c) or (c, row, column).
  const int64_t c = depth_first ? s[1] : s[1] * b * b;
  const int64_t column = depth_first ? s[1] * y[1] : s[1];
  Tensor blocks = call.y().reshaped({y[0], y[1], x[2], b, x[3], b});
  copy_strided(call.x(0), 0, {s[0], c, s[2], column * b, s[3], column}, blocks);
}

void forward_to_depth(const Call& call) {
  const Shape& x = call.x(0).shape();
  const int64_t b = call.attrs.i("blocksize");
  const Strides s = strides_of(x);
  if (call.attrs.s("mode", "DCR") == "CRD") {
    Tensor blocks = call.y().reshaped({x[0], x[1], b, b, x[2] / b, x[3] / b});
    return copy_strided(call.x(0), 0, {s[0], s[1], s[2], s[3], s[2] * b, s[3] * b}, blocks);
  }
  Tensor blocks = call.y().reshaped({x[0], b, b, x[1], x[2] / b, x[3] / b});
  copy_strided(call.x(0), 0, {s[0], s[2], s[3], s[1], s[2] * b, s[3] * b}, blocks);
}

void grad_to_space(Grad& g) { g.dx(0, apply("space_to_depth", {g.dy()}, g.attrs)); }
void grad_to_depth(Grad& g) { g.dx(0, apply("depth_to_space", {g.dy()}, g.attrs)); }

void paddle_shuffle(ImportNode& n) {
  const bool last = channels_last(n);
  const Var x = last ? channels_to_front(n.need("X"), 4) : n.need("X");
  const Var y = apply("depth_to_space", {x},
                      {{"blocksize", n.attrs.i("upscale_factor", 1)}, {"mode", "CRD"}});
  n.out("Out", last ? channels_to_back(y, 4) : y);
}

}  // namespace

extern const OpDef depth_to_space_op = {
    .name = "depth_to_space",
    .infer = infer_to_space,
    .forward = forward_to_space,
    .grad = grad_to_space,
    .imports = {{"onnx:DepthToSpace", onnx_same<"depth_to_space">},
                {"paddle:pixel_shuffle", paddle_shuffle}}};
extern const OpDef space_to_depth_op = {
    .name = "space_to_depth",
    .infer = infer_to_depth,
    .forward = forward_to_depth,
    .grad = grad_to_depth,
    .imports = {{"onnx:SpaceToDepth", onnx_same<"space_to_depth">}}};

}  // namespace hub
