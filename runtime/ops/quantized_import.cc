#include "runtime/ops/quantized_import.h"

#include "runtime/ops/rules.h"
#include "runtime/ops/window_import.h"

namespace hub {
namespace {

/// The numbers that inputs i (integers), i + 1 (scale) and i + 2 (zero point, may be absent) are.
Var number(ImportNode& n, size_t i, int64_t axis = 1) {
  return apply("dequantize", {n.need(i), n.need(i + 1), n.in(i + 2)}, {{"axis", axis}});
}
/// The result in steps of inputs i (scale) and i + 1 (zero point).
void give(ImportNode& n, Var y, size_t i) {
  n.out(0, apply("quantize", {y, n.need(i), n.in(i + 1)}, Attrs{}));
}

}  // namespace

void microsoft_qlinear_binary(ImportNode& n) {
  const Var a = number(n, 0), b = number(n, 3);
  give(n, n.type == "QLinearAdd" ? add(a, b) : mul(a, b), 6);
}

void microsoft_qlinear_unary(ImportNode& n) {
  const Var x = number(n, 0);
  give(n,
       n.type == "QLinearSigmoid" ? unary("sigmoid", x)
                                  : apply("leaky_relu", {x}, {{"alpha", n.attrs.f("alpha", 0.01)}}),
       3);
}

void microsoft_qlinear_pool(ImportNode& n) {
  if (n.attrs.i("channels_last", 0) != 0) n.refuse("'channels_last' is on");
  Attrs attrs = onnx_window(n);
  attrs.set("kind", std::string("avg"));
  for (const char* name : {"ceil_mode", "count_include_pad"})
    if (n.attrs.has(name)) attrs.set(name, n.attrs.i(name));
  if (n.type == "QLinearGlobalAveragePool") attrs.set("global", int64_t{1});
  give(n, apply("pool", {number(n, 0)}, attrs), 3);
}

void microsoft_qlinear_concat(ImportNode& n) {
  if (n.inputs() < 5 || (n.inputs() - 2) % 3 != 0)
    n.refuse("it has ", n.inputs(), " inputs, three for each part are wanted behind the first two");
  Vars parts;
  for (size_t i = 2; i < n.inputs(); i += 3) parts.push_back(number(n, i));
  give(n, apply("concat", parts, {{"axis", n.attrs.i("axis")}}), 0);
}

/// alpha * A' * B' + C, C counting in steps of the product.
void microsoft_qgemm(ImportNode& n) {
  const bool trans_b = n.attrs.i("transB", 0) != 0;
  const double alpha = n.attrs.f("alpha", 1);
  const Var scale = mul(n.need(1), n.need(4));
  Var bias;
  if (n.in(6)) {
    const Var unit = alpha == 1 ? scale : mul(scale, scalar_like(n, scale, alpha));
    bias = apply("dequantize", {n.in(6), unit}, {{"axis", int64_t{-1}}});
  }
  const Var a = number(n, 0), b = number(n, 3, trans_b ? 0 : 1);
  Var y = matmul(a, b, {}, n.attrs.i("transA", 0) != 0, trans_b, alpha);
  if (bias) y = add(y, bias);
  if (!n.in(7)) return n.out(0, y);
  give(n, y, 7);
}

}  // namespace hub
