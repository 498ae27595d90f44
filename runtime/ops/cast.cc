// cast(x, like?): attribute `to` (a dtype name), or the type of `like`; how numbers change is said
// at convert() and, for the small types, at to_small() (attribute saturate, 1).
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/small_types.h"
#include "runtime/ops/text.h"

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
    copy_elements(x, 0, n, y, 0);
    return;
  }
  if (x.dtype() == DType::string || y.dtype() == DType::string) return cast_text(x, y);
  if (is_small(x.dtype()) || is_small(y.dtype()))
    return set_numbers(y, numbers_of(x), call.attrs.i("saturate", 1) != 0);
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
  Attrs attrs{{"to", std::string(name_of(to))}};
  if (is_float8(to)) attrs.set("saturate", n.attrs.i("saturate", 1));
  n.out(0, apply("cast", {n.need(0)}, attrs));
}
void onnx_cast_like(ImportNode& n) {
  Attrs attrs;
  if (n.attrs.i("saturate", 1) == 0) attrs.set("saturate", int64_t{0});
  n.out(0, apply("cast", {n.need(0), n.need(1)}, attrs));
}

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
    .strings = true,
    .imports = {{"onnx:Cast", onnx_cast},
                {"onnx:CastLike", onnx_cast_like},
                {"paddle:cast", paddle_cast}},
};

}  // namespace hub
