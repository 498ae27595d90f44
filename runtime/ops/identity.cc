// identity(x), and what is one at inference: dropout.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_identity(const Infer& in) { return {in.in(0)}; }

void forward_identity(const Call& call) {
  std::copy_n(call.x(0).data<std::byte>(), call.x(0).bytes(), call.y().data<std::byte>());
}

void grad_identity(Grad& g) { g.dx(0, g.dy()); }

/// At inference nothing is dropped: the mask is all ones.
void onnx_dropout(ImportNode& n) {
  const Var x = n.need(0);
  if (const Var training = n.in(2)) {
    const Tensor& t = n.known(training);
    const Var ratio = n.in(1);
    const bool drops = !ratio || n.known(ratio).to_floats().at(0) != 0;
    if (t.to_ints().at(0) != 0 && drops)
      n.refuse("training_mode is on, only inference is supported");
  }
  n.out(0, apply("identity", {x}));
  if (n.outputs() < 2) return;
  const bool floats = n.version < 10;  // the mask has been bool since opset 10
  const Var one = floats ? scalar_like(n, x, 1) : constant(n.program, scalar_of(DType::boolean, 1));
  n.out(1, apply("expand", {one, apply("shape", {x})}));
}

/// Old programs scale at inference instead of in training.
void paddle_dropout(ImportNode& n) {
  const Var x = n.need("X");
  const bool scales =
      n.attrs.s("dropout_implementation", "downgrade_in_infer") == "downgrade_in_infer";
  const double keep = 1 - n.attrs.f("dropout_prob", 0.5);
  n.out("Out", scales && keep != 1 ? mul(x, scalar_like(n, x, keep)) : apply("identity", {x}));
}

/// X with the sequences of Y: those it carries, or else its numbers; without Y those of the
/// attribute.
void paddle_lod_reset(ImportNode& n) {
  n.out("Out", apply("identity", {n.need("X")}));
  const Var y = n.in("Y");
  if (n.in_offsets_.contains("Y")) return n.set_offsets("Out", n.offsets("Y"));
  n.set_offsets("Out",
                y ? apply("cast", {y}, {{"to", "int64"}}) : ints(n, n.attrs.ints("target_lod")));
}

}  // namespace

extern const OpDef identity_op = {
    .name = "identity",
    .infer = infer_identity,
    .forward = forward_identity,
    .grad = grad_identity,
    .imports = {{"onnx:Identity", onnx_same<"identity">},
                {"onnx:Dropout", onnx_dropout},
                {"paddle:assign", paddle_unary<"identity">},
                {"paddle:dropout", paddle_dropout},
                {"paddle:lod_reset", paddle_lod_reset}},
};

}  // namespace hub
