#include "runtime/ops/nn.h"

#include <deque>

namespace hub {

const Spec& real_input(const Infer& infer, size_t i, size_t least, size_t most) {
  check_type(infer, i, Floats{});
  const Spec& s = infer.in(i);
  if (s.shape.rank() < least)
    fail(Code::refused, "input ", i, " is ", s.str(), "; at least ", least,
         " dimensions are wanted");
  if (s.shape.rank() > most)
    fail(Code::unsupported, "input ", i, " is ", s.str(), "; at most ", most,
         " dimensions are wanted");
  return s;
}

void want(const Infer& infer, size_t i, const Spec& spec) {
  if (infer.has(i) && !(infer.in(i) == spec)) {
    fail(Code::refused, "input ", i, " is ", infer.in(i).str(), "; ", spec.str(), " is wanted");
  }
}

void need(const Infer& infer, size_t i, const Spec& spec) {
  infer.in(i);
  want(infer, i, spec);
}

void run_widened(const Call& call, void (*f)(const Call&)) {
  auto narrow = [](const Tensor* t) {
    return t != nullptr && (t->dtype() == DType::f16 || t->dtype() == DType::bf16);
  };
  if (std::none_of(call.in.begin(), call.in.end(), narrow)) return f(call);
  std::deque<Tensor> wide;
  std::vector<const Tensor*> in(call.in.begin(), call.in.end());
  std::vector<Tensor*> out(call.out.begin(), call.out.end());
  for (const Tensor*& t : in) {
    if (narrow(t)) t = &wide.emplace_back(Tensor::floats(t->shape(), t->to_floats()));
  }
  for (Tensor*& t : out) {
    if (narrow(t)) t = &wide.emplace_back(DType::f32, t->shape());
  }
  f({call.attrs, in, out});
  for (size_t i = 0; i < out.size(); ++i) {
    if (!narrow(call.out[i])) continue;
    dispatch(Types<Half, BFloat>{}, call.out[i]->dtype(), [&]<class T>() {
      for (int64_t k = 0; k < out[i]->numel(); ++k)
        call.out[i]->data<T>()[k] = static_cast<T>(out[i]->data<float>()[k]);
    });
  }
}

std::vector<double> to_doubles(const Tensor& t) {
  std::vector<double> v;
  dispatch(Reals{}, t.dtype(), [&]<class T>() { v.assign(t.data<T>(), t.data<T>() + t.numel()); });
  return v;
}

std::span<const int64_t> checked_offsets(const Tensor& offsets, int64_t rows) {
  const auto v = offsets.values<int64_t>();
  const bool right =
      !v.empty() && v.front() == 0 && v.back() == rows && std::is_sorted(v.begin(), v.end());
  if (!right)
    fail(Code::refused, "the offsets of sequences do not cover ", rows,
         " rows from 0 on without falling");
  return v;
}

}  // namespace hub
