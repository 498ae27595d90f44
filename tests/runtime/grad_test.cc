// The gradient of every row of the operator table against central differences in float64, made
// twice: as calls that run as they are written, and as a program.
#include "runtime/grad.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

bool is_real(DType d) { return d == DType::f32 || d == DType::f64; }

Tensor to_double(const Tensor& t) {
  Tensor d(DType::f64, t.shape());
  const auto values = t.dtype() == DType::f64
                          ? std::vector<double>(t.data<double>(), t.data<double>() + t.numel())
                          : [&] {
                              const auto f = t.to_floats();
                              return std::vector<double>(f.begin(), f.end());
                            }();
  std::copy(values.begin(), values.end(), d.data<double>());
  return d;
}

/// A row with its floats in double, moved a little off the corners (ties, zeros) where there is no
/// derivative, or else to numbers around a centre. Settings stay as they are.
struct Point {
  OpCase row;
  std::vector<size_t> floats;  ///< inputs into which gradients flow
};

Point point_of(const OpCase& c, const OpDef& op, double centre) {
  Point p{c, {}};
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i] || !is_real(c.in[i].dtype())) continue;
    Tensor d = to_double(c.in[i]);
    if ((op.settings >> i & 1) == 0) {
      const Tensor jitter = noise(d.shape(), static_cast<uint32_t>(17 + i));
      for (int64_t k = 0; k < d.numel(); ++k)
        d.data<double>()[k] = centre == 0
                                  ? d.data<double>()[k] * 0.98 + 0.01 * jitter.data<float>()[k]
                                  : centre + 0.3 * jitter.data<float>()[k];
      p.floats.push_back(i);
    }
    p.row.in[i] = d;
  }
  return p;
}

/// sum over outputs and elements of w * y, w being any numbers.
double projected(const std::vector<Tensor>& out) {
  double sum = 0;
  uint32_t seed = 3;
  for (const Tensor& y : out) {
    if (!is_real(y.dtype())) continue;
    const Tensor w = noise(y.shape(), ++seed);
    for (int64_t k = 0; k < y.numel(); ++k)
      sum += static_cast<double>(w.data<float>()[k]) * y.data<double>()[k];
  }
  return sum;
}

std::vector<Tensor> outputs_of(const OpDef& op, const OpCase& c) {
  std::vector<const Tensor*> in;
  for (const Tensor& x : c.in) in.push_back(x ? &x : nullptr);
  auto out = run_reference(op, c.attrs, in);
  if (!c.out.empty()) out.resize(std::min(out.size(), c.out.size()));
  // The statistics of a batch are not differentiated.
  for (size_t k = 1; op.name == "batch_norm_train" && k < out.size(); ++k) out[k] = {};
  return out;
}

Var projected(const Vars& out, const std::vector<Tensor>& like) {
  Var sum;
  uint32_t seed = 3;
  for (size_t k = 0; k < out.size(); ++k) {
    if (!is_real(like[k].dtype())) continue;
    const Var w = constant(*out[k].program, to_double(noise(like[k].shape(), ++seed)));
    const Var part = apply("reduce_sum", {mul(out[k], w)}, {{"keepdims", int64_t{0}}});
    sum = sum ? add(sum, part) : part;
  }
  return sum;
}

bool finite(const std::vector<Tensor>& out) {
  for (const Tensor& y : out) {
    if (!is_real(y.dtype())) continue;
    for (int64_t k = 0; k < y.numel(); ++k)
      if (!std::isfinite(y.data<double>()[k])) return false;
  }
  return true;
}

/// The gradients of the projection with respect to the row's float inputs, eager and as a program.
std::vector<Tensor> eager(const OpDef& op, const Point& p, const std::vector<Tensor>& out) {
  Tape tape("reference");
  Vars in;
  Vars wrt;
  for (size_t i = 0; i < p.row.in.size(); ++i) {
    in.push_back(p.row.in[i] ? tape.input(concat("x", i), p.row.in[i]) : Var{});
  }
  for (size_t i : p.floats) wrt.push_back(in[i]);
  const Var loss = projected(apply(op, in, p.row.attrs, out.size()), out);
  std::vector<Tensor> found;
  const Vars g = tape.gradients(loss, wrt);
  for (size_t i = 0; i < g.size(); ++i) found.push_back(g[i] ? tape[g[i]] : Tensor{});
  return found;
}

std::vector<Tensor> planned(const OpDef& op, const Point& p, const std::vector<Tensor>& out) {
  Program program;
  Vars in;
  Vars wrt;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < p.row.in.size(); ++i) {
    in.push_back(p.row.in[i] ? Var{&program, program.add_input(concat("x", i), {})} : Var{});
    if (p.row.in[i]) inputs.push_back(p.row.in[i]);
  }
  for (size_t i : p.floats) wrt.push_back(in[i]);
  const Var loss = projected(apply(op, in, p.row.attrs, out.size()), out);
  const Vars g = append_backward(program, loss, wrt);
  for (const Var& v : g)
    if (v) program.outputs.push_back(v.id);
  std::vector<Tensor> found(g.size());
  if (program.outputs.empty()) return found;
  Session session(program, {.device = "reference"});
  const auto got = session.run(inputs);
  for (size_t i = 0, k = 0; i < g.size(); ++i)
    if (g[i]) found[i] = got[k++];
  return found;
}

}  // namespace

TEST_CASE("gradients are those of central differences, eager and as a program") {
  for (const OpCase& c : op_cases()) {
    const OpDef& op = *find_op(c.op);
    if (op.grad == nullptr) continue;
    Point p = point_of(c, op, 0);
    if (p.floats.empty()) continue;
    INFO(c.op << ", first input " << (c.in[0] ? c.in[0].spec().str() : "absent"));
    std::vector<Tensor> out;
    try {
      out = outputs_of(op, p.row);
    } catch (const Error&) {
      continue;  // a row for one element type only
    }
    for (const double centre : {0.6, 1.6}) {
      if (finite(out) && finite(p.row.in)) break;
      p = point_of(c, op, centre);
      out = outputs_of(op, p.row);
    }
    bool real = false;
    for (const Tensor& y : out) real = real || y.dtype() == DType::f64;
    if (!real) continue;
    const auto a = eager(op, p, out);
    const auto b = planned(op, p, out);
    REQUIRE(a.size() == b.size());
    for (size_t k = 0; k < p.floats.size(); ++k) {
      Tensor& x = p.row.in[p.floats[k]];
      CAPTURE(p.floats[k], x.spec().str());
      REQUIRE(bool(a[k]) == bool(b[k]));
      if (a[k]) {
        REQUIRE(a[k].spec() == x.spec());
        CHECK(difference(a[k], b[k]) < 1e-9);
      }
      // Not more than some hundred places of a large input.
      const int64_t stride = std::max<int64_t>(1, x.numel() / 97);
      for (int64_t i = 0; i < x.numel(); i += stride) {
        double& at = x.data<double>()[i];
        const double before = at;
        const double found = a[k] ? a[k].data<double>()[i] : 0;
        double wanted = 0;
        // A smaller step where the function bends, or jumps, too near.
        for (const double step : {1e-5, 1e-7, 1e-9}) {
          const double h = step * std::max(1.0, std::fabs(before));
          at = before + h;
          const double up = projected(outputs_of(op, p.row));
          at = before - h;
          const double down = projected(outputs_of(op, p.row));
          wanted = (up - down) / (2 * h);
          if (std::fabs(found - wanted) <= 1e-5 + 1e-5 * std::fabs(wanted)) break;
        }
        at = before;
        CAPTURE(i, before, found, wanted);
        CHECK(std::fabs(found - wanted) <= 1e-5 + 1e-5 * std::fabs(wanted));
      }
    }
  }
}

TEST_CASE("gradients at corners are those that torch gives") {
  struct Corner {
    std::string_view op;
    Attrs attrs;
    std::vector<Tensor> in, dx;
  };
  const Attrs last{{"keepdims", int64_t{0}}};
  const Tensor rows = i({1});
  const Corner corners[] = {
      {"relu", {}, {f({2}, {0, 1})}, {f({2}, {0, 1})}},
      {"abs", {}, {f({1}, {0})}, {f({1}, {0})}},
      {"max",
       {},
       {f({3}, {1, 2, 3}), f({3}, {1, 3, 2})},
       {f({3}, {0.5F, 0, 1}), f({3}, {0.5F, 1, 0})}},
      {"min",
       {},
       {f({3}, {1, 2, 3}), f({3}, {1, 3, 2})},
       {f({3}, {0.5F, 1, 0}), f({3}, {0.5F, 0, 1})}},
      {"clip", {}, {f({4}, {-1, 0, 6, 7}), f(-1), f(6)}, {f({4}, {0, 1, 0, 0})}},
      {"leaky_relu", {{"alpha", 0.1}}, {f({1}, {0})}, {f({1}, {0.1F})}},
      {"elu", {{"alpha", 0.5}}, {f({1}, {0})}, {f({1}, {0.5F})}},
      {"selu", {}, {f({1}, {0})}, {f({1}, {1.7580993F})}},
      {"celu", {{"alpha", 0.5}}, {f({1}, {0})}, {f({1}, {1})}},
      {"hard_sigmoid",
       {{"alpha", 0.25}, {"beta", 0.5}},
       {f({3}, {-2, 0, 2})},
       {f({3}, {0, 0.25F, 0})}},
      {"hard_swish", {}, {f({2}, {-3, 3})}, {f({2}, {0, 1})}},
      {"shrink", {}, {f({2}, {0.5F, 0.6F})}, {f({2}, {0, 1})}},
      {"thresholded_relu", {}, {f({2}, {1, 2})}, {f({2}, {0, 1})}},
      {"prelu", {}, {f({2}, {0, -2}), f({1}, {0.25F})}, {f({2}, {0.25F, 0.25F}), f({1}, {-2})}},
      {"pow", {}, {f({2}, {0, -3}), i({2})}, {f({2}, {0, -6})}},
      {"pow", {}, {f({2}, {0, -2}), f(3)}, {f({2}, {0, 12})}},
      {"pow",
       {},
       {f({3}, {0, 0, 2}), f({3}, {2, 0, 3})},
       {f({3}, {0, 0, 12}), f({3}, {0, 0, 5.5451775F})}},
      {"reduce_max",
       last,
       {f({2, 3}, {1, 3, 3, 2, 0, 1}), rows},
       {f({2, 3}, {0, 0.5F, 0.5F, 1, 0, 0})}},
      {"reduce_prod",
       last,
       {f({3, 3}, {0, 2, 3, 0, 0, 4, 2, 3, 4}), rows},
       {f({3, 3}, {6, 0, 0, 0, 0, 0, 12, 8, 6})}},
      {"reduce_l2", last, {f({2, 2}, {0, 0, 3, 4}), rows}, {f({2, 2}, {0, 0, 0.6F, 0.8F})}},
      {"reduce_l1", last, {f({1, 2}, {0, -2}), rows}, {f({1, 2}, {0, -1})}},
  };
  for (const Corner& c : corners) {
    INFO(c.op);
    Tape tape("reference");
    Vars in;
    for (const Tensor& x : c.in) in.push_back(tape.input("x", x));
    const Vars wrt(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(c.dx.size()));
    const Var y = apply(*find_op(c.op), in, c.attrs)[0];
    const Vars dx = tape.gradients(apply("reduce_sum", {y}, {{"keepdims", int64_t{0}}}), wrt);
    for (size_t k = 0; k < wrt.size(); ++k) {
      REQUIRE(dx[k]);
      CAPTURE(k, tape[dx[k]].to_floats());
      CHECK(difference(tape[dx[k]], c.dx[k]) < 1e-6);
    }
  }
}

TEST_CASE("no gradient goes through whole numbers, truths and shapes") {
  Tape tape("reference");
  const Var x = tape.input("x", f({3}, {-1, 2, 5}));
  // The mean of those above zero: sum(x * [x > 0]) / n, with n counted and cast on the way.
  const Var above = apply("greater", {x, constant(*x.program, f(0))});
  const Var count = apply(
      "add", {apply("cast", {above}, {{"to", "int64"}}), apply("cast", {x}, {{"to", "int64"}})});
  const Var zeros = apply("sub", {count, count});
  const Var weight = apply("cast", {apply("and", {above, apply("not", {apply("isnan", {x})})}), x});
  const Var sum = apply("reduce_sum", {add(mul(x, weight), apply("cast", {zeros, x}))});
  const Var mean = apply("div", {sum, apply("cast", {apply("size", {x}), x})});
  const Vars dx = tape.gradients(mean, {x});
  REQUIRE(dx[0]);
  CHECK(difference(tape[dx[0]], f({3}, {0, 1 / 3.0F, 1 / 3.0F})) < 1e-6);
}

TEST_CASE("an operator on floats has a gradient or says why not") {
  std::set<std::string_view> on_floats;
  for (const OpCase& c : op_cases()) {
    const OpDef& op = *find_op(c.op);
    bool in = false;
    for (size_t i = 0; i < c.in.size(); ++i)
      in = in || (c.in[i] && is_real(c.in[i].dtype()) && (op.settings >> i & 1) == 0);
    if (in) on_floats.insert(c.op);
  }
  for (std::string_view name : on_floats) {
    INFO(name);
    const OpDef& op = *find_op(name);
    CHECK((op.grad != nullptr) != !op.no_grad.empty());
  }
}

TEST_CASE("an operator without a gradient is named on the way back") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {3}})};
  const Var y = apply("hardmax", {x}, {{"axis", int64_t{0}}});
  const Var loss = apply("reduce_sum", {y}, {{"keepdims", int64_t{0}}});
  CHECK_THROWS_WITH(append_backward(p, loss, {x}), Catch::Matchers::Contains("'hardmax'"));
}

}  // namespace hub
