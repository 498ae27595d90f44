// Multi-head attention found in what exporters write: heads split off by a reshape and a transpose,
// two products with a softmax between them, and the heads joined again. Starts at the joining
// reshape and walks back.
#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

class Finder {
 public:
  Finder(const Program& program, const std::vector<Spec>& specs)
      : p_(program), specs_(specs), uses_(program) {}

  const OpCall* writer(ValueId id, std::string_view op) const {
    return writer_of(p_, uses_, id, op);
  }
  /// The input of the transpose that writes `id`, or absent.
  ValueId turned(ValueId id, const std::vector<int64_t>& order) const {
    const OpCall* call = writer(id, "transpose");
    return call != nullptr && call->attrs.ints("perm") == order ? call->in[0] : absent;
  }
  /// x [B, S, heads * D] of what is split into heads by this transpose, or absent.
  ValueId split(ValueId id, const std::vector<int64_t>& order) const {
    const OpCall* reshape = writer(turned(id, order), "reshape");
    if (reshape == nullptr) return absent;
    const Shape& from = shape(reshape->in[0]);
    const Shape& to = shape(reshape->out[0]);
    const bool heads = from.rank() == 3 && to.rank() == 4 && from[0] == to[0] && from[1] == to[1];
    return heads ? reshape->in[0] : absent;
  }
  /// A product of two tensors as they are.
  const OpCall* product(ValueId id) const {
    const OpCall* call = writer(id, "matmul");
    const bool plain = call != nullptr && call->in.size() == 2 &&
                       call->attrs.i("trans_a", 0) == 0 && call->attrs.i("trans_b", 0) == 0 &&
                       call->attrs.f("alpha", 1) == 1 && !call->attrs.has("post");
    return plain ? call : nullptr;
  }
  /// x of x * c or x / c with a scalar constant, which `scale` takes up; `id` itself otherwise.
  ValueId unscaled(ValueId id, double& scale) const {
    for (const std::string_view op : {"mul", "div"}) {
      const OpCall* call = writer(id, op);
      for (size_t i = 0; call != nullptr && i < (op == "mul" ? 2 : 1); ++i) {
        const auto by = scalar_of(p_, call->in[1 - i]);
        if (!by || spec(call->in[i]) != spec(id)) continue;
        scale = op == "mul" ? scale * *by : scale / *by;
        return call->in[i];
      }
    }
    return id;
  }
  const Spec& spec(ValueId id) const { return specs_[static_cast<size_t>(id)]; }
  const Shape& shape(ValueId id) const { return spec(id).shape; }
  bool used_once(ValueId id) const { return uses_.only_reader(id) >= 0; }

 private:
  const Program& p_;
  const std::vector<Spec>& specs_;
  Uses uses_;
};

/// Scores and what is added to them.
struct Parts {
  const OpCall* product = nullptr;
  ValueId bias = absent;
  double scale = 1;
};

Parts scores(const Finder& f, ValueId id) {
  const auto scaled_product = [&](ValueId from) {
    Parts parts;
    parts.product = f.product(f.unscaled(from, parts.scale));
    return parts;
  };
  if (const Parts parts = scaled_product(id); parts.product != nullptr) return parts;
  const OpCall* add = f.writer(id, "add");
  for (size_t i = 0; add != nullptr && i < 2; ++i) {
    Parts parts = scaled_product(add->in[i]);
    parts.bias = add->in[1 - i];
    const Shape& bias = f.shape(parts.bias);
    if (parts.product != nullptr && f.spec(add->in[i]) == f.spec(id) && bias.rank() == 4 &&
        bias[3] == f.shape(id)[3])
      return parts;
  }
  return {};
}

bool attention(const Finder& f, OpCall& call) {
  const std::vector<int64_t> to_heads = {0, 2, 1, 3};
  const ValueId joined = f.turned(call.in[0], to_heads);
  const OpCall* mix = f.product(joined);
  if (mix == nullptr || f.shape(joined).rank() != 4 || f.spec(joined).dtype != DType::f32)
    return false;
  const OpCall* softmax = f.writer(mix->in[0], "softmax");
  if (softmax == nullptr || !f.used_once(mix->in[0])) return false;
  const int64_t axis = softmax->attrs.i("axis", -1);
  if (axis != -1 && axis != 3) return false;
  Parts parts = scores(f, softmax->in[0]);
  if (parts.product == nullptr) return false;
  const ValueId q = f.split(f.unscaled(parts.product->in[0], parts.scale), to_heads);
  const ValueId k = f.split(f.unscaled(parts.product->in[1], parts.scale), {0, 2, 3, 1});
  const ValueId v = f.split(mix->in[1], to_heads);
  if (q == absent || k == absent || v == absent || parts.scale < 0) return false;
  // The same batch and heads all over: nothing was broadcast.
  const Shape& y = f.shape(joined);
  for (const ValueId part : {parts.product->in[0], parts.product->in[1], mix->in[1]}) {
    const Shape& s = f.shape(part);
    if (s.rank() != 4 || s[0] != y[0] || s[1] != y[1]) return false;
  }
  if (f.shape(call.out[0]) != Shape{y[0], y[2], y[1] * y[3]}) return false;
  call.op = find_op("attention");
  call.in = {q, k, v};
  if (parts.bias != absent) call.in.insert(call.in.end(), {absent, parts.bias});
  call.attrs = {{"heads", y[1]}, {"scale", parts.scale}};
  return true;
}

}  // namespace

void recover_attention(Program& program, const std::vector<Spec>& specs) {
  const Finder finder(program, specs);
  for (OpCall& call : program.ops)
    if (is(call, "reshape") && call.in[0] != absent) attention(finder, call);
  remove_dead(program);
}

}  // namespace hub
