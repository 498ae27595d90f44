// Elementwise steps behind a conv or matmul become part of it, so that its result is written once.
#include "runtime/op.h"
#include "runtime/ops/post.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// The step that a call with one computed operand, x, is, or nothing.
std::optional<Post> step_on(const Program& p, const OpCall& call, ValueId x) {
  if (call.in[0] == x) {
    const auto step = step_of(call, [&](size_t i) { return scalar_of(p, call.in[i]); });
    if (step) return step;
  }
  const std::string_view op = call.op->name;
  if (call.in.size() != 2) return {};
  const bool first = call.in[0] == x;
  const auto s = scalar_of(p, first ? call.in[1] : call.in[0]);
  if (!s) return {};
  if (op == "add") return Post{"linear", 1, *s};
  if (op == "mul") return Post{"linear", *s, 0};
  if (op == "sub") return first ? Post{"linear", 1, -*s} : Post{"linear", -1, *s};
  if (op == "div" && first && *s != 0) return Post{"linear", 1 / *s, 0};
  return {};
}

/// Appends, joining two linear steps into one; false when the step cannot stand in this list.
bool append(OpCall& call, const Post& post) {
  auto posts = read_post(call.attrs);
  if (!posts.empty() && posts.back().kind == "linear" && post.kind == "linear") {
    posts.back() = {"linear", posts.back().a * post.a, posts.back().b * post.a + post.b};
  } else {
    posts.push_back(post);
  }
  auto all = posts;
  if (call.attrs.f("alpha", 1) != 1)
    all.push_back({"linear", 0, 0});  // the device's way to scale a product
  if (steps_clash(all)) return false;
  call.attrs.erase("post");
  call.attrs.erase("post_args");
  for (const Post& p : posts) add_post(call.attrs, p);
  return true;
}

}  // namespace

void fuse_post(Program& program, const std::vector<Spec>& specs) {
  const Uses uses(program);
  std::vector<char> gone(program.ops.size(), 0);
  // Where each call stands once it has taken in its followers: a residual must be written before
  // that.
  for (size_t c = 0; c < program.ops.size(); ++c) {
    OpCall& call = program.ops[c];
    const bool takes = is(call, "conv") || is(call, "matmul");
    if (!takes || gone[c] != 0) continue;
    if (specs[static_cast<size_t>(call.out[0])].dtype != DType::f32) continue;
    size_t place = c;
    for (;;) {
      const ValueId y = call.out[0];
      const int next = uses.only_reader(y);
      if (next < 0 || gone[static_cast<size_t>(next)] != 0) break;
      const OpCall& follower = program.ops[static_cast<size_t>(next)];
      if (follower.out.size() != 1 || follower.out[0] == absent) break;
      const ValueId z = follower.out[0];
      if (specs[static_cast<size_t>(y)] != specs[static_cast<size_t>(z)]) break;
      if (const auto post = step_on(program, follower, y)) {
        if (!append(call, *post)) break;
      } else if (is(follower, "add") && follower.in[0] != follower.in[1] &&
                 (call.in.size() < 4 || call.in[3] == absent)) {
        const ValueId other = follower.in[0] == y ? follower.in[1] : follower.in[0];
        const bool constant = static_cast<bool>(program[other].constant);
        if (constant || specs[static_cast<size_t>(other)] != specs[static_cast<size_t>(y)]) break;
        if (!append(call, {"sum", 0, 0})) break;
        call.in.resize(4, absent);
        call.in[3] = other;
        place = static_cast<size_t>(next);
      } else {
        break;
      }
      call.out[0] = z;
      gone[static_cast<size_t>(next)] = 1;
    }
    if (place != c) {  // the residual may be written after the call: run it where the sum was
      program.ops[place] = std::move(call);
      gone[c] = 1;
      gone[place] = 0;
    }
  }
  std::vector<OpCall> kept;
  for (size_t c = 0; c < program.ops.size(); ++c) {
    if (gone[c] == 0) kept.push_back(std::move(program.ops[c]));
  }
  program.ops = std::move(kept);
}

}  // namespace hub
