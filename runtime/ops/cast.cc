// cast(x, like?): attribute `to` (a dtype name), or the type of `like`; how numbers change is said
// at convert().
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

DType target(const Infer& in) {
  if (in.has(1)) return in.in(1).dtype;
  const auto& to = in.attrs.s("to");
  const DType dtype = dtype_named(to);
  if (dtype == DType::none) fail(Code::unsupported, "cast to '", to, "'");
  return dtype;
}

std::vector<Spec> infer_cast(const Infer& in) { return {{target(in), in.in(0).shape}}; }

void forward_cast(const Call& call) {
  const Tensor& x = call.x(0);
  Tensor& y = call.y();
  const int64_t n = x.numel();
  if (x.dtype() == y.dtype()) {
    std::copy_n(x.data<std::byte>(), x.bytes(), y.data<std::byte>());
    return;
  }
  dispatch(Everything{}, x.dtype(), [&]<class From>() {
    dispatch(Everything{}, y.dtype(), [&]<class To>() {
      const From* from = x.data<From>();
      To* to = y.data<To>();
      for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(static_cast<wide_t<From>>(from[i]));
    });
  });
}

/// What becomes a whole number has no slope (append_backward does not ask for one there).
void grad_cast(Grad& g) { g.dx(0, apply("cast", {g.dy(), g.x(0)})); }

void onnx_cast(ImportNode& n) {
  const DType to = onnx_type(n, "to");
  n.out(0, apply("cast", {n.need(0)}, {{"to", std::string(name_of(to))}}));
}
void onnx_cast_like(ImportNode& n) { n.out(0, apply("cast", {n.need(0), n.need(1)})); }

void paddle_cast(ImportNode& n) {
  const DType to = paddle_type(n, "out_dtype");
  n.out("Out", apply("cast", {n.need("X")}, {{"to", std::string(name_of(to))}}));
}

}  // namespace

extern const OpDef cast_op = {
    .name = "cast",
    .max_inputs = 2,
    .spec_only = 0b10,
    .infer = infer_cast,
    .forward = forward_cast,
    .grad = grad_cast,
    .settings = 0b10,
    .imports = {{"onnx:Cast", onnx_cast},
                {"onnx:CastLike", onnx_cast_like},
                {"paddle:cast", paddle_cast}},
};

}  // namespace hub
