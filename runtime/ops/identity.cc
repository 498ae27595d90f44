// identity(x), of anything, and what is one at inference: dropout.
#include "runtime/block.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_identity(const Infer& in) { return {in.in(0)}; }

void forward_identity(const Call& call) {
  copy_elements(call.x(0), 0, call.x(0).numel(), call.y(), 0);
}

void grad_identity(Grad& g) { g.dx(0, g.dy()); }

/// In training x / (1 - ratio) where a random number is not below the ratio, 0 elsewhere; the
/// numbers are those of NumPy for the same seed.
void drop(ImportNode& n, Var x, Var training) {
  const Var ratio =
      cast_to(n.in(1) ? n.in(1) : constant(n.program, Tensor::scalar(0.5F)), DType::f64);
  const Var one = constant(n.program, scalar_of(DType::f64, 1));
  Attrs attrs{{"to", "float64"}};
  if (n.attrs.has("seed")) attrs.set("seed", n.attrs.i("seed"));
  const Var drawn = apply("random_uniform", {apply("shape", {x})}, attrs);
  const Var stays = apply("greater_equal", {drawn, ratio});
  const Var scale = div(cast_to(stays, DType::f64), sub(one, ratio));
  n.out(0, apply("where", {training, mul(x, apply("cast", {scale, x})), x}));
  n.out(1, apply("or", {stays, unary("not", training)}));
}

/// The derivatives of the sum of y. They are taken where the inputs are what `xs` names; other
/// numbers in their place would mean another run of everything between.
void onnx_gradient(ImportNode& n) {
  const Vars y = n.captured("y");
  if (y.empty()) n.refuse("it does not say what is differentiated");
  const Vars x = n.captured("xs");
  if (n.attrs.has("zs") || x.size() != n.inputs()) n.refuse("values (zs) are held constant");
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i].id != n.need(i).id) n.refuse("its input ", i, " is not what xs names");
  const Var sum = apply("reduce_sum", {y[0]}, {{"keepdims", int64_t{0}}});
  const Vars dx = append_backward(n.program, sum, x);
  for (size_t i = 0; i < dx.size(); ++i)
    n.out(i, dx[i] ? apply("identity", {dx[i]}) : zeros_like(x[i]));
}

/// At inference nothing is dropped: the mask is all ones.
void onnx_dropout(ImportNode& n) {
  const Var x = n.need(0);
  if (const Var training = n.in(2);
      training && !(training.constant() && known_number(n, training).to_ints()[0] == 0))
    return drop(n, x, training);
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
    .strings = true,
    .lists = true,
    .imports = {{"onnx:Identity", onnx_same<"identity">},
                {"onnx:Dropout", onnx_dropout},
                {"ai.onnx.preview.training:Gradient", onnx_gradient},
                {"paddle:assign", paddle_unary<"identity">},
                {"paddle:share_data", paddle_unary<"identity">},
                {"paddle:dropout", paddle_dropout},
                {"paddle:lod_reset", paddle_lod_reset}},
};

}  // namespace hub
