// dropout(x, seed) ratio, key -> y: each element is zero with probability `ratio`, else divided by
// 1 - ratio. Which ones follows from the int64 number `seed`, the attribute `key` (another for
// every dropout of a network) and the element's index alone, so that the gradient needs no mask, a
// run can be repeated, and threads do not matter. Networks that predict do not contain it.
#include "base/random.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

std::vector<Spec> infer_dropout(const Infer& infer) {
  const double ratio = infer.attrs.f("ratio", 0.5);
  if (!(ratio >= 0 && ratio < 1))
    fail(Code::refused, "'ratio' is ", ratio, "; at least 0 and less than 1 is wanted");
  const Spec& seed = infer.in(1);
  if (seed.dtype != DType::i64 || seed.shape.numel() != 1)
    fail(Code::refused, "the seed is ", seed.str(), "; one int64 is wanted");
  return {real_input(infer, 0)};
}

void forward_dropout(const Call& call) {
  const double ratio = call.attrs.f("ratio", 0.5);
  const auto seed = static_cast<uint64_t>(call.x(1).data<int64_t>()[0]);
  const uint64_t stream =
      splitmix64(seed ^ splitmix64(static_cast<uint64_t>(call.attrs.i("key", 0))));
  const auto dropped = static_cast<uint64_t>(ratio * 0x1p32);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    const auto scale = static_cast<T>(1 / (1 - ratio));
    parallel(call.y().numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = splitmix64(stream + static_cast<uint64_t>(i)) >> 32 < dropped ? T{} : x[i] * scale;
    });
  });
}

void grad_dropout(Grad& g) { g.dx(0, apply("dropout", {g.dy(), g.x(1)}, g.attrs)); }

}  // namespace

extern const OpDef dropout_op = {.name = "dropout",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = infer_dropout,
                                 .forward = widened<forward_dropout>,
                                 .grad = grad_dropout,
                                 .in_place = {0}};

}  // namespace hub
