// What was fused behind a convolution or a matrix product: a short list of elementwise steps on its
// result, kept in the attributes "post" (kinds) and "post_args" (two numbers a step).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/attrs.h"
#include "runtime/program.h"

namespace hub {

/// kind: "sum" (adds the residual input), "relu", "clip" (a = min, b = max), "linear" (a * x + b),
/// "sigmoid", "tanh", "hard_sigmoid" (clip(a * x + b, 0, 1)), "hard_swish" (x * clip(x + 3, 0, 6) /
/// 6), "swish" (x * sigmoid(a * x)), "gelu" (the erf form), "leaky_relu" (a below zero), "abs",
/// "sqrt", "square".
struct Post {
  std::string kind;
  double a = 0, b = 0;
};

/// The elementwise operator as a step on its first input, or nothing. `scalar(i)` gives input i
/// when it is a constant of one number.
std::optional<Post> step_of(const OpCall& call,
                            const std::function<std::optional<double>(size_t)>& scalar);

std::vector<Post> read_post(const Attrs& attrs);
void add_post(Attrs& attrs, const Post& post);
/// Whether two of the steps come down to the same elementary one. oneDNN 2.6 gives both the
/// parameters of the first, so such a list is neither fused nor handed to it.
bool steps_clash(const std::vector<Post>& posts);
/// One step on one number; "sum" adds `residual`.
float apply_post(const Post& post, float x, float residual);
/// Refuses steps that are unknown, miss their residual or would not work on float32 numbers.
void check_post(const Attrs& attrs, const Spec& y, bool residual);
/// All steps on every number of y (float32 when there are any); `residual` has the shape of y, or
/// is null.
void apply_posts(const Attrs& attrs, Tensor& y, const Tensor* residual);

}  // namespace hub
