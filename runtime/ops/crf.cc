// crf_decode(emission [T, D], transition [D + 2, D], offsets) -> int64 [T, 1]: the best path of
// tags through each sequence (Viterbi). Row 0 of the transition holds the weights to start with a
// tag, row 1 those to stop with it, row 2 + i those from tag i to each tag. Among equal scores the
// lowest tag wins.
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_crf(const Infer& infer) {
  const Spec& x = infer.in(0);
  if (x.dtype != DType::f32 || x.shape.rank() != 2 || x.shape[1] < 1) {
    fail(Code::refused, "the emission is ", x.str(), "; float32[T, D] is wanted");
  }
  need(infer, 1, {DType::f32, {x.shape[1] + 2, x.shape[1]}});
  const Spec& offsets = infer.in(2);
  if (offsets.dtype != DType::i64 || offsets.shape.rank() != 1)
    fail(Code::refused, "the offsets are ", offsets.str());
  return {{DType::i64, {x.shape[0], 1}}};
}

/// The path through `count` rows of emission.
void decode(const float* emission, const float* transition, int64_t count, int64_t tags,
            int64_t* path) {
  const auto n = static_cast<size_t>(tags);
  const float* stop = transition + tags;
  const float* pairs = transition + 2 * tags;
  std::vector<float> score(n), next(n);
  std::vector<int32_t> came_from(static_cast<size_t>(count) * n);
  for (size_t j = 0; j < n; ++j) score[j] = transition[j] + emission[j];
  for (int64_t t = 1; t < count; ++t) {
    int32_t* from = came_from.data() + t * tags;
    for (size_t j = 0; j < n; ++j) next[j] = score[0] + pairs[j];
    for (size_t i = 1; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const float candidate = score[i] + pairs[i * n + j];
        const bool better = candidate > next[j];
        next[j] = better ? candidate : next[j];
        from[j] = better ? static_cast<int32_t>(i) : from[j];
      }
    }
    for (size_t j = 0; j < n; ++j) score[j] = next[j] + emission[static_cast<size_t>(t) * n + j];
  }
  for (size_t j = 0; j < n; ++j) score[j] += stop[j];
  int64_t tag = std::max_element(score.begin(), score.end()) - score.begin();
  for (int64_t t = count; t-- > 0;) {
    path[t] = tag;
    tag = came_from[static_cast<size_t>(t * tags + tag)];
  }
}

void forward_crf(const Call& call) {
  const int64_t tags = call.x(0).shape()[1];
  const auto offsets = checked_offsets(call.x(2), call.x(0).shape()[0]);
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const int64_t count = offsets[s + 1] - offsets[s];
    if (count == 0) continue;
    decode(call.x(0).data<float>() + offsets[s] * tags, call.x(1).data<float>(), count, tags,
           call.y().data<int64_t>() + offsets[s]);
  }
}

void paddle_crf(ImportNode& n) {
  if (n.in("Label")) n.refuse("a 'Label' input makes it a check of labels, which is not supported");
  const Var offsets = n.offsets("Emission");
  n.out("ViterbiPath", apply("crf_decode", {n.need("Emission"), n.need("Transition"), offsets}));
  n.set_offsets("ViterbiPath", offsets);
}

}  // namespace

extern const OpDef crf_decode_op = {
    .name = "crf_decode",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_crf,
    .forward = forward_crf,
    .no_grad = "the best path is a choice, not a number; train with crf_loss",
    .imports = {{"paddle:crf_decoding", paddle_crf}}};

}  // namespace hub
