// reverse_sequence(x, lengths) time_axis (0), batch_axis (1), one being 0 and the other 1: of each
// row of the batch the first lengths[b] steps in opposite order, the others as they are.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_reverse_sequence(const Infer& in) {
  const Shape& x = in.in(0).shape;
  const int64_t time = in.attrs.i("time_axis", 0);
  const int64_t batch = in.attrs.i("batch_axis", 1);
  if (x.rank() < 2) fail(Code::refused, "input 0 is ", in.in(0).str(), ": two axes are wanted");
  if (time < 0 || time > 1 || batch != 1 - time)
    fail(Code::refused, "time_axis is ", time, ", batch_axis ", batch, ": 0 and 1 are wanted");
  check_type(in, 1, Types<int32_t, int64_t>{});
  if (in.in(1).shape != Shape{x[static_cast<size_t>(batch)]})
    fail(Code::refused, "lengths are ", in.in(1).str(), " for ", in.in(0).str());
  return {in.in(0)};
}

void forward_reverse_sequence(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const bool time_first = call.attrs.i("time_axis", 0) == 0;
  const int64_t steps = shape[time_first ? 0 : 1];
  const int64_t rows = shape[time_first ? 1 : 0];
  const int64_t inner = shape.numel(2, shape.rank());
  const auto lengths = call.x(1).to_ints();
  auto place = [&](int64_t t, int64_t b) {
    return (time_first ? t * rows + b : b * steps + t) * inner;
  };
  dispatch_size(call.y().dtype(), [&]<class T>() {
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t n = lengths[static_cast<size_t>(b)];
      if (n < 0 || n > steps)
        fail(Code::refused, "row ", b, " is ", n, " of ", steps, " steps long");
      for (int64_t t = 0; t < steps; ++t)
        std::copy_n(call.x(0).data<T>() + place(t < n ? n - 1 - t : t, b), inner,
                    call.y().data<T>() + place(t, b));
    }
  });
}

void grad_reverse_sequence(Grad& g) {
  g.dx(0, apply("reverse_sequence", {g.dy(), g.x(1)}, g.attrs));
}

}  // namespace

extern const OpDef reverse_sequence_op = {
    .name = "reverse_sequence",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_reverse_sequence,
    .forward = forward_reverse_sequence,
    .grad = grad_reverse_sequence,
    .imports = {{"onnx:ReverseSequence", onnx_same<"reverse_sequence">}}};

}  // namespace hub
