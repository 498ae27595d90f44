#include "runtime/ops/post.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/op.h"

namespace hub {

std::optional<Post> step_of(const OpCall& call,
                            const std::function<std::optional<double>(size_t)>& scalar) {
  const std::string op(call.op->name);
  const Attrs& a = call.attrs;
  for (std::string_view plain : {"relu", "sigmoid", "tanh", "hard_swish", "abs", "sqrt"}) {
    if (op == plain) return Post{op, 0, 0};
  }
  if (op == "gelu" && a.s("approximate", "none") == "none") return Post{op, 0, 0};
  if (op == "swish") return Post{op, a.f("beta", 1), 0};
  if (op == "leaky_relu") return Post{op, a.f("alpha", 0.01), 0};
  if (op == "hard_sigmoid") return Post{op, a.f("alpha", 0.2), a.f("beta", 0.5)};
  if (op != "clip") return {};
  Post post{op, -INFINITY, INFINITY};
  for (size_t i = 1; i < call.in.size(); ++i) {
    if (call.in[i] == absent) continue;
    const auto bound = scalar(i);
    if (!bound) return {};
    (i == 1 ? post.a : post.b) = *bound;
  }
  return post;
}

std::vector<Post> read_post(const Attrs& attrs) {
  const auto kinds = attrs.strings("post");
  const auto args = attrs.floats("post_args");
  if (args.size() != 2 * kinds.size()) {
    fail(Code::refused, "'post_args' holds ", args.size(), " numbers for ", kinds.size(), " steps");
  }
  std::vector<Post> posts;
  for (size_t i = 0; i < kinds.size(); ++i)
    posts.push_back({kinds[i], args[2 * i], args[2 * i + 1]});
  return posts;
}

void add_post(Attrs& attrs, const Post& post) {
  auto kinds = attrs.strings("post");
  auto args = attrs.floats("post_args");
  kinds.push_back(post.kind);
  args.push_back(post.a);
  args.push_back(post.b);
  attrs.set("post", std::move(kinds));
  attrs.set("post_args", std::move(args));
}

bool steps_clash(const std::vector<Post>& posts) {
  std::vector<std::string> seen;
  for (const Post& p : posts) {
    std::vector<std::string> parts = {p.kind};
    if (p.kind == "hard_sigmoid") parts = {"linear", "clip"};
    if (p.kind == "leaky_relu") parts = {"relu"};
    for (auto& part : parts) {
      if (std::find(seen.begin(), seen.end(), part) != seen.end()) return true;
      seen.push_back(std::move(part));
    }
  }
  return false;
}

float apply_post(const Post& post, float x, float residual) {
  const auto a = static_cast<float>(post.a);
  const auto b = static_cast<float>(post.b);
  const std::string& k = post.kind;
  auto sigmoid = [](float v) { return 1.0F / (1.0F + std::exp(-v)); };
  if (k == "sum") return x + residual;
  if (k == "relu") return std::max(x, 0.0F);
  if (k == "clip") return std::min(std::max(x, a), b);
  if (k == "linear") return a * x + b;
  if (k == "sigmoid") return sigmoid(x);
  if (k == "tanh") return std::tanh(x);
  if (k == "hard_sigmoid") return std::clamp(a * x + b, 0.0F, 1.0F);
  if (k == "hard_swish") return x * std::clamp(x + 3.0F, 0.0F, 6.0F) / 6.0F;
  if (k == "swish") return x * sigmoid(a * x);
  if (k == "gelu") return 0.5F * x * (1.0F + std::erf(x * 0.70710678F));
  if (k == "leaky_relu") return x < 0 ? a * x : x;
  if (k == "abs") return std::fabs(x);
  if (k == "sqrt") return std::sqrt(x);
  if (k == "square") return x * x;
  fail(Code::unsupported, "unknown fused step '", k, "'");
}

void check_post(const Attrs& attrs, const Spec& y, bool residual) {
  const auto posts = read_post(attrs);
  if (!posts.empty() && y.dtype != DType::f32) fail(Code::unsupported, "fused steps on ", y.str());
  for (const Post& post : posts) {
    if (post.kind == "sum" && !residual)
      fail(Code::refused, "a fused 'sum' without its residual input");
    apply_post(post, 0, 0);
  }
}

void apply_posts(const Attrs& attrs, Tensor& y, const Tensor* residual) {
  for (const Post& post : read_post(attrs)) {
    float* p = y.data<float>();
    for (int64_t i = 0; i < y.numel(); ++i) {
      p[i] = apply_post(post, p[i], residual == nullptr ? 0 : residual->data<float>()[i]);
    }
  }
}

}  // namespace hub
