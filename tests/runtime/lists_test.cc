// Lists and strings in programs: loops that grow them, their bounds, and strings in program files.
#include <catch2/catch.hpp>

#include "runtime/budget.h"
#include "runtime/import/onnx_tensor.h"
#include "runtime/session.h"
#include "tests/error_of.h"
#include "tests/runtime/blocks.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

Tensor one(int64_t v) { return Tensor::ints({v}).reshaped({}); }

/// A loop over a list that `step` changes each round: list step(list, round).
template <class F>
Program loop(F step) {
  Program p;
  const Var rounds{&p, p.add_input("rounds", {DType::i64, {}})};
  const BlockPtr body = block_of(3, [&](const Vars& in) {
    return Vars{apply("identity", {in[1]}), step(in[2], in[0])};
  });
  const Var empty = apply(p, *find_op("list_make"), {})[0];
  p.outputs.push_back(apply(*find_op("while"), {rounds, Var{}, empty},
                            {{"body", body}, {"carried", int64_t{1}}}, 1)[0]
                          .id);
  return p;
}

Var insert(Var list, Var round) { return apply("list_insert", {list, round}); }

TEST_CASE("a loop grows a list, in a session as call by call") {
  const Program p = loop(insert);
  const Tensor wanted = Tensor::list({one(0), one(1), one(2)});
  CHECK(difference(plain_run(p, {one(3)})[0], wanted) == 0);
  Session session(p);
  CHECK(difference(session.run({one(3)})[0], wanted) == 0);
  CHECK(session.run({one(0)})[0].items().empty());
}

TEST_CASE("lists that grow without end are refused") {
  Session longer(loop(insert));
  error_of(Code::refused, [&] { longer.run({one(INT64_MAX)}); });
  const std::vector<Tensor> full(size_t{1} << 16, one(1));
  const Tensor list = Tensor::list(full);
  const Tensor* const more[] = {&list, &full[0]};
  error_of(Code::refused, [&] { run_reference(*find_op("list_insert"), {}, more); });
  Session deeper(loop([](Var list, Var) { return apply("list_make", {list}); }));
  CHECK(deeper.run({one(1)})[0].items().size() == 1);
  error_of(Code::unsupported, [&] { deeper.run({one(3)}); });
  const Budget budget(1 << 16);
  error_of(Code::refused, [&] { plain_run(loop(insert), {one(10000)}); });
}

TEST_CASE("strings that grow without end are refused") {
  const Tensor text = Tensor::strings({1}, {std::string(1000, 'x')});
  const Tensor times = Tensor::ints({1000});
  const Tensor* const in[] = {&text, &times};
  const Budget budget(1 << 19);
  error_of(Code::refused, [&] { run_reference(*find_op("expand"), {}, in); });
  error_of(Code::unsupported, [&] { run_reference(*find_op("add"), {}, in); });
}

TEST_CASE("strings lie in program files") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::string, {-1}})};
  const Var words = constant(p, Tensor::strings({2}, {std::string("a\0b", 3), "é"}), "words");
  p.outputs.push_back(apply("string_concat", {x, words}).id);
  auto bytes = std::make_shared<const std::string>(to_bytes(p));
  const Program again = program_from_bytes(*bytes, bytes);
  CHECK(to_text(again) == to_text(p));
  const Tensor in = Tensor::strings({1}, {"-"});
  Session session(again);
  CHECK(difference(session.run({in})[0], Tensor::strings({2}, {std::string("-a\0b", 4), "-é"})) ==
        0);
}

Tensor read(const onnx::Tensor& from) {
  static const FolderFiles none("");
  OnnxExternalData external(none, RelPath::parse("none"));
  onnx::Tensor message = from;
  return onnx_tensor(message, external);
}

TEST_CASE("onnx: strings and halves of bytes are read as they are stored") {
  onnx::Tensor t;
  t.set_data_type(22);  // int4
  t.add_dims(3);
  t.set_raw_data("\x8F\x07");
  CHECK(read(t).to_ints() == std::vector<int64_t>{-1, -8, 7});
  t.clear_raw_data();
  t.add_int32_data(0x8F);
  t.add_int32_data(7);
  CHECK(read(t).to_ints() == std::vector<int64_t>{-1, -8, 7});
  t.set_data_type(21);  // uint4
  CHECK(read(t).to_ints() == std::vector<int64_t>{15, 8, 7});
  t.add_int32_data(7);
  error_of(Code::refused, [&] { read(t); });
  t.clear_int32_data();
  t.set_data_type(8);
  for (const char* s : {"a", "", "c"}) t.add_string_data(s);
  CHECK(difference(read(t), Tensor::strings({3}, {"a", "", "c"})) == 0);
  t.add_string_data("d");
  error_of(Code::refused, [&] { read(t); });
  t.clear_string_data();
  t.set_raw_data(std::string(3 * sizeof(std::string), '\1'));
  error_of(Code::refused, [&] { read(t); });
}

}  // namespace
}  // namespace hub
