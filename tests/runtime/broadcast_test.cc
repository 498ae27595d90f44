// The CPU device's binary operators on operands of any shapes that broadcast.
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {

TEST_CASE("operands broadcast as in the reference") {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{1, 4, 5, 6}, {1, 1, 5, 6}},
      {{2, 3, 4, 40}, {2, 1, 1, 40}},
      {{7, 33}, {7, 1}},
      {{7, 1}, {1, 33}},
      {{3, 1, 5, 1}, {4, 1, 6}},
      {{2, 3, 4}, {3, 1}},
      {{5}, {3, 1, 5}},
      {{2, 1, 2, 1, 2}, {3, 1, 2, 1}},
      {{300, 1, 70}, {300, 2, 1}},
  };
  for (std::string_view op : {"add", "sub", "mul", "div", "max", "min"}) {
    for (const auto& [one, other] : shapes) {
      for (bool swapped : {false, true}) {
        INFO(op << " " << one.str() << " " << other.str() << swapped);
        Program p;
        Tensor a = noise(swapped ? other : one, 1), b = noise(swapped ? one : other, 2);
        a.data<float>()[a.numel() / 2] = NAN;
        b.data<float>()[b.numel() - 1] = NAN;
        b.data<float>()[0] = -INFINITY;
        const Var x{&p, p.add_input("x", a.spec())}, y{&p, p.add_input("y", b.spec())};
        const Var z = apply(op, {x, y});
        // The second time it may be written over what it reads.
        p.outputs = {z.id, apply(op, {neg(x), y}).id, apply(op, {x, neg(y)}).id};
        Session session(p);
        const auto wanted = plain_run(p, {a, b});
        const auto got = session.run({a, b});
        for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) == 0);
        for (const StepTime& s : session.profile({a, b}, 1).steps)
          if (s.op == op) CHECK(s.how == "rows");
      }
    }
  }
}

}  // namespace hub
