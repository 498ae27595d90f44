#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/block.h"
#include "runtime/budget.h"
#include "runtime/passes/passes.h"
#include "tests/fuzz/target.h"

namespace hub {
namespace {

// Enough for any small model; what is larger only makes the search slow.
constexpr size_t most_bytes = 64 << 10;
constexpr size_t most_work = 4 << 20;

/// A tensor of the declared type and shape, its open dimensions of `open` elements, with the
/// numbers that are likely to be handled wrong.
Tensor some(Spec spec, int64_t open) {
  constexpr double numbers[] = {1, 0, 2, -1, 3, 0.5, -7, 1e30, INFINITY, -INFINITY, NAN};
  if (spec.dtype == DType::none) spec = {DType::f32, {open}};
  for (size_t d = 0; d < spec.shape.rank(); ++d)
    if (spec.shape[d] < 0) spec.shape[d] = open;
  Tensor t(spec.dtype, spec.shape);
  if (!is_plain(spec.dtype)) return t;
  const size_t size = size_of(spec.dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = numbers[static_cast<size_t>(i) % std::size(numbers)];
    auto* at = t.data<std::byte>() + static_cast<size_t>(i) * size;
    const auto put = [&]<class T>(T value) { std::memcpy(at, &value, sizeof value); };
    switch (spec.dtype) {
      case DType::f32: put(static_cast<float>(v)); break;
      case DType::f64: put(v); break;
      case DType::f16: put(float_to_half(static_cast<float>(v))); break;
      case DType::bf16: put(float_to_bfloat(static_cast<float>(v))); break;
      case DType::boolean: put(i % 3 != 0); break;
      default: {
        // Whole numbers, now and then the smallest or largest of the type.
        const int64_t n = std::isfinite(v) && std::fabs(v) < 100 ? static_cast<int64_t>(v)
                          : v > 0 ? std::numeric_limits<int64_t>::max()
                                  : std::numeric_limits<int64_t>::min();
        const int64_t shifted = n >> (64 - 8 * size);
        const int64_t value = std::fabs(v) < 100 ? n : shifted;
        std::memcpy(at, &value, size);
      }
    }
  }
  return t;
}

std::vector<Tensor> inputs_of(const Program& program, int64_t open) {
  std::vector<Tensor> inputs;
  for (ValueId id : program.inputs) inputs.push_back(some(program[id].declared, open));
  return inputs;
}

void run(const Program& program, const std::vector<Tensor>& inputs) {
  attempt([&] { run_plainly(std::make_shared<const Program>(program), inputs); });
}

}  // namespace

void exercise(const Program& program) {
  const Budget budget(most_bytes, most_work);
  attempt([&] {
    const std::string bytes = to_bytes(program);
    const Program back = program_from_bytes(bytes, nullptr);
    check(to_text(back) == to_text(program));
    check(to_bytes(back) == bytes);
  });
  for (int64_t open : {1, 3}) {
    attempt([&] {
      const std::vector<Tensor> inputs = inputs_of(program, open);
      run(program, inputs);
      Program fast = program;
      optimize(fast);
      std::vector<Spec> given, all;
      for (const Tensor& t : inputs) given.push_back(t.spec());
      if (specialize(fast, given, all)) run(fast, inputs);
    });
  }
}

}  // namespace hub
