// Every operator against the numbers of its rows in the table, and the rules that hold for all of
// them.
#include "runtime/op.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {

namespace {

std::vector<Tensor> run(const OpCase& c) {
  const OpDef* op = find_op(c.op);
  REQUIRE(op != nullptr);
  std::vector<const Tensor*> in;
  for (const Tensor& x : c.in) in.push_back(x ? &x : nullptr);
  return run_reference(*op, c.attrs, in);
}

std::vector<float> numbers(const Tensor& t) {
  return is_plain(t.dtype()) ? t.to_floats() : std::vector<float>{};
}

Code refusal(const OpCase& c) {
  try {
    run(c);
  } catch (const Error& e) {
    return e.code();
  }
  FAIL(c.op << " was not refused");
  return {};
}

}  // namespace

TEST_CASE("every row of the operator table gives its numbers") {
  for (const OpCase& c : op_cases()) {
    const auto out = run(c);
    if (c.out.empty()) continue;
    REQUIRE(out.size() == c.out.size());
    for (size_t k = 0; k < out.size(); ++k) {
      INFO(c.op << " output " << k << ", first input "
                << (!c.in.empty() && c.in[0] ? c.in[0].spec().str() : "absent"));
      CHECK(out[k].spec().str() == c.out[k].spec().str());
      CAPTURE(numbers(out[k]), numbers(c.out[k]));
      if (out[k].spec() == c.out[k].spec()) CHECK(difference(out[k], c.out[k]) <= 1e-5);
    }
  }
}

TEST_CASE("every operator has a row with numbers, its own name and its own import rules") {
  std::set<std::string_view> tested;
  for (const OpCase& c : op_cases()) {
    if (!c.out.empty()) tested.insert(c.op);
  }
  std::set<std::string_view> imports;
  for (const OpDef* op : all_ops()) {
    INFO(op->name);
    CHECK(tested.contains(op->name));
    CHECK(find_op(op->name) == op);
    for (const Import& rule : op->imports) {
      INFO(rule.name);
      CHECK(imports.insert(rule.name).second);
    }
  }
  CHECK(find_op("no such operator") == nullptr);
  CHECK(find_import("onnx:NoSuchOperator") == nullptr);
  CHECK(importable("onnx").size() + importable("paddle").size() <= imports.size());
}

TEST_CASE("wrong calls are refused") {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor huge = i({int64_t{1} << 20, int64_t{1} << 20});
  const std::vector<OpCase> refused = {
      {"add", {}, {x}, {}},
      {"add", {}, {x, x, x}, {}},
      {"add", {}, {x, f({2}, {1, 2})}, {}},
      {"add", {}, {x, i({1})}, {}},
      {"reshape", {}, {x, i({4})}, {}},
      {"reshape", {}, {x, i({-1, -1})}, {}},
      {"reshape", {}, {x, i({-1, 4})}, {}},
      {"reshape", {}, {x, i({2, 3, 0})}, {}},
      {"squeeze", {}, {x, i({0})}, {}},
      {"unsqueeze", {}, {x, i({0, 0})}, {}},
      {"transpose", {{"perm", std::vector<int64_t>{0, 0}}}, {x}, {}},
      {"concat", {{"axis", int64_t{0}}}, {x, f({2, 2}, {1, 2, 3, 4})}, {}},
      {"concat", {{"axis", int64_t{2}}}, {x, x}, {}},
      {"split", {}, {x, i({1, 2})}, {}},
      {"slice", {}, {x, i({0}), i({1}), i({0}), i({0})}, {}},
      {"gather", {}, {x, i({2})}, {}},
      {"gather", {}, {x, i({-3})}, {}},
      {"gather_nd", {}, {x, i({1, 2}, {0, 3})}, {}},
      {"gather_elements", {{"axis", int64_t{1}}}, {x, i({3, 1}, {0, 0, 0})}, {}},
      {"scatter_nd", {}, {x, i({1, 1}, {2}), f({1, 3}, {0, 0, 0})}, {}},
      {"expand", {}, {x, i({2, 4})}, {}},
      {"expand", {}, {f(1), huge}, {}},
      {"fill", {}, {huge}, {}},
      {"fill", {}, {i({-1})}, {}},
      {"tile", {}, {x, i({1})}, {}},
      {"tile", {}, {x, i({int64_t{1} << 62, 4})}, {}},
      {"pad", {}, {x, i({0, -2, 0, -2})}, {}},
      {"topk", {}, {x, i({4})}, {}},
      {"argmax", {{"axis", int64_t{0}}}, {f({0, 2}, {})}, {}},
      {"range", {}, {f(0), f(1), f(0)}, {}},
      {"one_hot", {}, {i({1}), i({1}).reshaped({}), f({3}, {0, 1, 2})}, {}},
      {"reduce_sum", {}, {x, i({2})}, {}},
  };
  for (const OpCase& c : refused) {
    INFO(c.op);
    CHECK(refusal(c) == Code::refused);
  }
  CHECK(refusal({"exp", {}, {i({1})}, {}}) == Code::unsupported);
  CHECK(refusal({"gather", {}, {x, f({1}, {0})}, {}}) == Code::unsupported);
  CHECK(refusal({"cast", {{"to", "list"}}, {x}, {}}) == Code::unsupported);
  CHECK(refusal({"div", {}, {i({1}), i({0})}, {}}) == Code::numeric);
  CHECK(refusal({"mod", {}, {i({1}), i({0})}, {}}) == Code::numeric);
}

TEST_CASE("a shape that depends on numbers not known yet is said to be unknown") {
  const Spec x{DType::f32, {2, 3}};
  const Spec shape{DType::i64, {1}};
  const Spec* in[] = {&x, &shape};
  const Tensor* values[] = {nullptr, nullptr};
  CHECK_THROWS_AS(infer_outputs(*find_op("reshape"), Infer({}, in, values)), ValueUnknown);
}

}  // namespace hub
