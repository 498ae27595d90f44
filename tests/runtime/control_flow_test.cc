// `if` and `while`: gradients against central differences, eager and as a program, saved and
// loaded.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/grad.h"
#include "runtime/program.pb.h"
#include "runtime/runtime.h"
#include "runtime/train.h"
#include "tests/error_of.h"
#include "tests/runtime/blocks.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

using Network = std::function<Var(const Vars&)>;  ///< its inputs to a loss

Tensor d(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of<double>(shape, values);
}
Var number(double value, Var like) { return constant(*like.program, d({}, {value})); }
Var sum(Var x) { return apply("reduce_sum", {x}, {{"keepdims", int64_t{0}}}); }
Var above(Var x, double bound) { return apply("greater", {sum(x), number(bound, x)}); }

/// x <- x * w for as long as sum(x) > 1; also gives the sum of all x on the way.
BlockPtr decay() {
  return block_of(5, [](const Vars& in) {
    const Var y = mul(in[2], in[4]);
    return Vars{above(y, 1), y, add(in[3], y)};
  });
}

Var decayed(const Vars& in) {
  const Var x = in[0];
  const Vars out = apply(*find_op("while"), {{}, above(x, 1), x, mul(x, x), in[1]},
                         {{"body", decay()}, {"carried", int64_t{2}}}, 2);
  return add(sum(mul(out[0], in[1])), sum(out[1]));
}

Var chosen(const Vars& in) {
  const Vars y = apply(
      *find_op("if"), {above(in[0], 0), in[0], in[1]},
      {{"then", block_of(2,
                         [](const Vars& v) {
                           return Vars{mul(v[0], v[1]), v[0]};
                         })},
       {"else", block_of(2,
                         [](const Vars& v) {
                           return Vars{unary("exp", v[0]), apply("sub", {v[1], mul(v[0], v[0])})};
                         })}},
      2);
  return add(sum(mul(y[0], y[0])), sum(y[1]));
}

/// A loop of a given number of rounds, in every round of which another loop or a product.
Var nested(const Vars& in) {
  const BlockPtr inner = block_of(4, [](const Vars& v) {
    const Var y = mul(v[2], v[3]);
    return Vars{above(y, 2), y};
  });
  const BlockPtr shrink = block_of(2, [&](const Vars& v) {
    return apply(*find_op("while"), {{}, above(v[0], 2), v[0], v[1]},
                 {{"body", inner}, {"carried", int64_t{1}}}, 1);
  });
  const BlockPtr grow = block_of(
      2, [](const Vars& v) { return Vars{add(mul(v[0], number(1.7, v[0])), mul(v[1], v[1]))}; });
  const BlockPtr body = block_of(4, [&](const Vars& v) {
    const Var y = apply(*find_op("if"), {above(v[2], 2.5), v[2], v[3]},
                        {{"then", shrink}, {"else", grow}}, 1)[0];
    return Vars{apply("identity", {v[1]}), y, mul(y, v[3])};
  });
  const Vars out = apply(*find_op("while"), {constant(*in[0].program, i({5})), {}, in[0], in[1]},
                         {{"body", body}, {"carried", int64_t{1}}}, 2);
  return add(sum(out[0]), sum(mul(out[1], out[1])));
}

double loss_at(const Network& network, const std::vector<Tensor>& at) {
  Tape tape("reference");
  Vars in;
  for (const Tensor& x : at) in.push_back(tape.input("x", x.clone()));
  return *tape[network(in)].data<double>();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.spec() == b.spec() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void check(const Network& network, std::vector<Tensor> at) {
  Tape tape("reference");
  Vars in;
  for (const Tensor& x : at) in.push_back(tape.input("x", x.clone()));
  Var loss = network(in);
  const Vars dx = tape.gradients(loss, in);
  Vars results{loss};
  results.insert(results.end(), dx.begin(), dx.end());
  std::vector<Tensor> eager;
  for (const Var& v : results) eager.push_back(tape[v]);

  Program p;
  Vars x;
  for (size_t k = 0; k < at.size(); ++k) x.push_back({&p, p.add_input(concat("x", k), {})});
  loss = network(x);
  p.outputs = {loss.id};
  for (const Var& g : append_backward(p, loss, x)) p.outputs.push_back(g.id);
  const std::string bytes = to_bytes(p);
  const Program loaded = program_from_bytes(bytes, nullptr);
  CHECK(to_text(loaded) == to_text(p));
  const auto wanted = Session(p, {.device = "reference"}).run(at);
  const auto again = Session(loaded, {.device = "reference"}).run(at);
  const auto fast = Session(p).run(at);
  const auto traced = Session(tape.program(results), {.device = "reference"}).run(at);
  for (size_t k = 0; k < wanted.size(); ++k) {
    CAPTURE(k);
    CHECK(same_bits(wanted[k], again[k]));
    CHECK(same_bits(eager[k], traced[k]));
    CHECK(difference(eager[k], wanted[k]) < 1e-12);
    CHECK(difference(fast[k], wanted[k]) < 1e-9);
  }
  for (size_t k = 0; k < at.size(); ++k) {
    REQUIRE(dx[k]);
    for (int64_t e = 0; e < at[k].numel(); ++e) {
      double& v = at[k].data<double>()[e];
      const double before = v;
      const double h = 1e-6;
      v = before + h;
      const double up = loss_at(network, at);
      v = before - h;
      const double down = loss_at(network, at);
      v = before;
      const double slope = (up - down) / (2 * h);
      CAPTURE(k, e, slope);
      CHECK(eager[1 + k].data<double>()[e] == Approx(slope).epsilon(1e-6).margin(1e-7));
    }
  }
}

}  // namespace

TEST_CASE("gradients flow through both blocks of an if") {
  check(chosen, {d({3}, {0.5, 1, -0.25}), d({3}, {2, -1, 3})});
  check(chosen, {d({3}, {0.5, -1, -0.25}), d({3}, {2, -1, 3})});
}

TEST_CASE("gradients flow through a while whose rounds depend on its numbers") {
  for (const double start : {0.1, 3.0, 50.0})  // no round, some, more
    check(decayed, {d({2}, {start, 1.5 * start}), d({2}, {0.5, 0.75})});
}

TEST_CASE("gradients flow through blocks in blocks") {
  check(nested, {d({2}, {0.4, 0.9}), d({2}, {0.6, 0.8})});
  check(nested, {d({2}, {3, 2.5}), d({2}, {0.6, 0.8})});
}

TEST_CASE("gradients reach what is carried by way of what else is carried") {
  // Of three numbers each adds the one before it; only the first begins with x.
  const BlockPtr body = block_of(5, [](const Vars& in) {
    return Vars{apply("identity", {in[1]}), in[2], add(in[3], in[2]),
                add(in[4], mul(in[3], in[3]))};
  });
  check(
      [&](const Vars& in) {
        const Var zero = number(0.25, in[0]);
        const Vars out =
            apply(*find_op("while"), {constant(*in[0].program, i({4})), {}, sum(in[0]), zero, zero},
                  {{"body", body}, {"carried", int64_t{3}}}, 3);
        return mul(out[2], out[2]);
      },
      {d({2}, {0.5, -1.5})});
}

TEST_CASE("a loop has second derivatives") {
  // x^4 by a loop: the sum of its gradient is 4 x^3.
  const BlockPtr power = block_of(4, [](const Vars& in) {
    return Vars{apply("identity", {in[1]}), mul(in[2], in[3])};
  });
  check(
      [&](const Vars& in) {
        const Var y = apply(*find_op("while"), {constant(*in[0].program, i({3})), {}, in[0], in[0]},
                            {{"body", power}, {"carried", int64_t{1}}}, 1)[0];
        return sum(append_backward(*in[0].program, sum(y), {in[0]})[0]);
      },
      {d({2}, {0.5, -1.5})});
}

TEST_CASE("a carried value may grow, its gradient is refused") {
  const BlockPtr body = block_of(4, [](const Vars& in) {
    return Vars{apply("identity", {in[1]}),
                apply("concat", {in[2], in[3]}, {{"axis", int64_t{0}}})};
  });
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1}})};
  const Var y = apply(*find_op("while"), {constant(p, i({3})), {}, x, x},
                      {{"body", body}, {"carried", int64_t{1}}}, 1)[0];
  p.outputs = {y.id};
  CHECK(difference(Session(p).run({f({2}, {1, 2})})[0], f({8}, {1, 2, 1, 2, 1, 2, 1, 2})) == 0);
  p.outputs = {append_backward(p, sum(y), {x})[0].id};
  CHECK_THAT(error_of(Code::unsupported,
                      [&] {
                        Session(p).run({f({2}, {1, 2})});
                      }),
             Catch::Contains("keeps its shape"));
}

TEST_CASE("blocks as text, below the call that owns them") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {2}})};
  const Var y =
      apply(*find_op("while"), {{}, {}, x, x}, {{"body", decay()}, {"carried", int64_t{1}}}, 1)[0];
  p.outputs = {y.id};
  CHECK_THAT(to_text(p), Catch::Contains("while(-, -, x, x) carried=1\n  body:\n    input %0\n") &&
                             Catch::Contains("\n    output %"));
}

TEST_CASE("wrong calls and wrong files with blocks are refused") {
  const Tensor x = f({2}, {1, 2});
  const Tensor two = i({1, 2});
  const auto refused = [](const OpCase& c) {
    return error_of(Code::refused, [&] {
      std::vector<const Tensor*> in;
      for (const Tensor& t : c.in) in.push_back(t ? &t : nullptr);
      run_reference(*find_op(c.op), c.attrs, in);
    });
  };
  CHECK_THAT(refused({"while", {{"body", decay()}, {"carried", int64_t{3}}}, {{}, {}, x, x}, {}}),
             Catch::Contains("carries 3"));
  CHECK_THAT(refused({"while", {{"body", decay()}, {"carried", int64_t{1}}}, {{}, {}, x}, {}}),
             Catch::Contains("takes 5"));
  CHECK_THAT(
      refused({"while", {{"body", decay()}, {"carried", int64_t{2}}}, {two, {}, x, x, x}, {}}),
      Catch::Contains("trip count"));
  CHECK_THAT(refused({"if", {{"then", decay()}, {"else", decay()}}, {x, x}, {}}),
             Catch::Contains("takes 5"));
  CHECK_THAT(refused({"if", {{"then", decay()}, {"else", decay()}}, {{}, x, x, x, x, x}, {}}),
             Catch::Contains("input 0 is missing"));
  CHECK_THAT(
      refused({"while", {{"body", decay()}, {"carried", int64_t{2}}}, {{}, {}, x, {}, x}, {}}),
      Catch::Contains("input 3 is missing"));

  Program p;
  const Var in{&p, p.add_input("x", {DType::f64, {2}})};
  p.outputs = {nested({in, in}).id};
  const std::string bytes = to_bytes(p);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 2, 255}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ flip);
      try {
        to_text(program_from_bytes(other, nullptr));
      } catch (const Error&) {
        continue;  // refused is as good as read
      }
    }
  }
}

TEST_CASE("a block belongs to one operator, and lies behind the one it is in") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f64, {2}})};
  p.outputs = {chosen({x, x}).id};
  std::string bytes = to_bytes(p);
  uint64_t head = 0;
  std::memcpy(&head, bytes.data() + 1, sizeof head);
  pb::Program message;
  REQUIRE(message.ParseFromArray(bytes.data(), static_cast<int>(head)));
  REQUIRE(message.blocks_size() == 3);
  for (pb::Op& op : *message.mutable_blocks(0)->mutable_ops())
    for (pb::Attr& a : *op.mutable_attrs())
      if (a.has_block()) a.set_block(1);
  message.SerializeAsString().copy(bytes.data(), head);
  CHECK_THAT(error_of(Code::refused, [&] { program_from_bytes(bytes, nullptr); }),
             Catch::Contains("may not hold block 1"));
  for (pb::Op& op : *message.mutable_blocks(0)->mutable_ops())
    for (pb::Attr& a : *op.mutable_attrs())
      if (a.has_block()) a.set_block(0);
  message.SerializeAsString().copy(bytes.data(), head);
  CHECK_THAT(error_of(Code::refused, [&] { program_from_bytes(bytes, nullptr); }),
             Catch::Contains("may not hold block 0"));
}

TEST_CASE("what is constant in a block can be trained") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {2}})};
  const BlockPtr scale = block_of(1, [](const Vars& in) {
    return Vars{mul(in[0], constant(*in[0].program, f({2}, {3, 4}), "w"))};
  });
  const BlockPtr shift = block_of(1, [](const Vars& in) {
    return Vars{add(in[0], constant(*in[0].program, f({2}, {5, 6}), "b"))};
  });
  const Var above_zero = apply("greater", {sum(x), constant(p, f(0))});
  const Var y = apply(*find_op("if"), {above_zero, x}, {{"then", scale}, {"else", shift}}, 1)[0];
  p.outputs = {y.id};
  auto states = make_trainable(
      p, [](std::string_view) { return true; }, false);
  REQUIRE(states->size() == 2);
  Vars wrt;
  for (const State& s : p.states) wrt.push_back({&p, s.value});
  for (const Var& g : append_backward(p, sum(y), wrt)) p.outputs.push_back(g.id);
  Session session(p, {.states = states});
  const auto out = session.run({f({2}, {1, 2})});
  CHECK(difference(out[0], f({2}, {3, 8})) == 0);
  const size_t w = p[p.states[0].value].name == "w" ? 1 : 2;
  CHECK(difference(out[w], f({2}, {1, 2})) == 0);
  CHECK(difference(out[3 - w], f({2}, {0, 0})) == 0);
}

}  // namespace hub
