#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "runtime/import/paddle.pb.h"
#include "runtime/session.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"
#include "tests/scratch.h"

using namespace hub;

namespace {

enum { boolean = 0, f32 = 5, i64 = 3, lod_tensor = 7, feed_list = 9, fetch_list = 10 };

fluid::Var& add_var(fluid::Program& p, std::string name, std::vector<int64_t> dims,
                    bool persistable = false, int dtype = f32, int levels = 0) {
  fluid::Var& var = *p.mutable_blocks(0)->add_vars();
  var.set_name(name);
  var.set_persistable(persistable);
  var.mutable_type()->set_type(lod_tensor);
  fluid::LodTensor& type = *var.mutable_type()->mutable_lod_tensor();
  type.set_lod_level(levels);
  type.mutable_tensor()->set_data_type(dtype);
  for (int64_t d : dims) type.mutable_tensor()->add_dims(d);
  return var;
}

using Slots = std::vector<std::pair<std::string, std::vector<std::string>>>;

fluid::Op& add_op(fluid::Program& p, std::string type, const Slots& in, const Slots& out) {
  fluid::Op& op = *p.mutable_blocks(0)->add_ops();
  op.set_type(type);
  for (const auto& [from, to] : {std::pair{&in, op.mutable_inputs()}, {&out, op.mutable_outputs()}})
    for (const auto& [slot, names] : *from) {
      fluid::Op::Slot& s = *to->Add();
      s.set_parameter(slot);
      for (const std::string& name : names) s.add_arguments(name);
    }
  return op;
}

fluid::Attr& add_attr(fluid::Op& op, std::string name, int type) {
  fluid::Attr& a = *op.add_attrs();
  a.set_name(name);
  a.set_type(type);
  return a;
}

void add_feed(fluid::Program& p, std::string name, int column) {
  add_attr(add_op(p, "feed", {{"X", {"feed"}}}, {{"Out", {name}}}), "col", 0).set_i(column);
}
void add_fetch(fluid::Program& p, std::string name, int column) {
  add_attr(add_op(p, "fetch", {{"X", {name}}}, {{"Out", {"fetch"}}}), "col", 0).set_i(column);
}

/// y = relu(x + b), with the parameters a (not used) and b.
fluid::Program small() {
  fluid::Program p;
  p.mutable_version()->set_version(1006003);
  p.add_blocks()->set_idx(0);
  for (const auto& [name, type] : {std::pair{"feed", feed_list}, {"fetch", fetch_list}}) {
    fluid::Var& var = *p.mutable_blocks(0)->add_vars();
    var.set_name(name);
    var.set_persistable(true);
    var.mutable_type()->set_type(type);
  }
  add_var(p, "x", {-1, 2});
  add_var(p, "b", {2}, true);
  add_var(p, "a", {1}, true, i64);
  add_var(p, "s", {-1, 2});
  add_var(p, "y", {-1, 2});
  add_feed(p, "x", 0);
  add_op(p, "elementwise_add", {{"X", {"x"}}, {"Y", {"b"}}}, {{"Out", {"s"}}});
  add_op(p, "relu", {{"X", {"s"}}}, {{"Out", {"y"}}});
  add_fetch(p, "y", 0);
  return p;
}

std::string little(uint64_t n, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(n >> (8 * i));
  return s;
}

std::string record(int dtype, std::vector<int64_t> dims, std::string_view data,
                   std::string_view lod = std::string_view("\0\0\0\0\0\0\0\0", 8)) {
  fluid::TensorDesc desc;
  desc.set_data_type(dtype);
  for (int64_t d : dims) desc.add_dims(d);
  const std::string text = desc.SerializeAsString();
  return concat(little(0, 4), lod, little(0, 4), little(text.size(), 4), text, data);
}

const std::string a_record = record(i64, {1}, little(7, 8));
const std::string b_record = record(f32, {2}, std::string("\0\0\x80\x3f\0\0\0\xc0", 8));  // 1, -2

Program import(const fluid::Program& p, std::string params) {
  return import_paddle(MemoryFiles({{"d/p", p.SerializeAsString()}, {"d/w", std::move(params)}}),
                       RelPath::parse("d/p"), "d/w");
}
Program import(const fluid::Program& p) { return import(p, a_record + b_record); }

constexpr auto small_text = R"(program ""
input x: float32[?, 2]
constant a: int64[1] = [7]
constant b: float32[2] = [1, -2]
s = add(x, b)
y = relu(s)
output y: float32[?, 2]
)";

}  // namespace

TEST_CASE("paddle: combined parameters are in the order of their names") {
  CHECK(to_text(import(small())) == small_text);
}

TEST_CASE("paddle: separate parameters lie beside the program") {
  const MemoryFiles files(
      {{"d/p", small().SerializeAsString()}, {"d/a", a_record}, {"d/b", b_record}});
  CHECK(to_text(import_paddle(files, RelPath::parse("d/p"), "")) == small_text);
  const MemoryFiles missing({{"d/p", small().SerializeAsString()}, {"d/a", a_record}});
  CHECK_THAT(error_of(Code::not_found, [&] { import_paddle(missing, RelPath::parse("d/p"), ""); }),
             Catch::Contains("d/b"));
}

TEST_CASE("paddle: inputs and outputs follow their columns, not their places") {
  fluid::Program p = small();
  add_var(p, "z", {-1});
  add_feed(p, "z", -1);
  add_fetch(p, "s", -1);
  const Program q = import(p);
  CHECK(q[q.inputs.at(0)].name == "z");
  CHECK(q[q.inputs.at(1)].name == "x");
  CHECK(q[q.outputs.at(0)].name == "s");
  CHECK(q[q.outputs.at(1)].name == "y");
}

TEST_CASE("paddle: a variable that is written again is a new value") {
  fluid::Program p = small();
  auto& ops = *p.mutable_blocks(0)->mutable_ops();
  ops[1].mutable_outputs(0)->set_arguments(0, "x");
  ops[2].mutable_inputs(0)->set_arguments(0, "x");
  CHECK_THAT(to_text(import(p)), Catch::Contains("x~1 = add(x, b)\ny = relu(x~1)\n"));
}

TEST_CASE("paddle: running statistics that are written back stay parameters") {
  fluid::Program p = small();
  add_var(p, "m", {2}, true);
  const Slots parameters = {
      {"Scale", {"b"}}, {"Bias", {"b"}}, {"Mean", {"m"}}, {"Variance", {"m"}}};
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"y", "n"}, {"n", "o"}}) {
    Slots in = parameters;
    in.push_back({"X", {from}});
    add_attr(add_op(p, "batch_norm", in, {{"Y", {to}}, {"MeanOut", {"m"}}, {"VarianceOut", {"m"}}}),
             "is_test", 6)
        .set_b(true);
  }
  add_fetch(p, "o", 1);
  CHECK_THAT(to_text(import(p, a_record + b_record + record(f32, {2}, std::string(8, '\1')))),
             Catch::Contains("o = batch_norm(n, b, b, m, m)"));
}

TEST_CASE("paddle: sequences bring their offsets along") {
  fluid::Program p = small();
  p.mutable_blocks(0)->mutable_vars(2)->mutable_type()->mutable_lod_tensor()->set_lod_level(1);
  add_var(p, "w", {3, 9}, true);
  add_var(p, "g", {-1, 3});
  auto& gru = add_op(p, "gru", {{"Input", {"y"}}, {"Weight", {"w"}}}, {{"Hidden", {"g"}}});
  add_attr(gru, "activation", 2).set_s("tanh");
  add_attr(gru, "gate_activation", 2).set_s("sigmoid");
  add_fetch(p, "g", 1);
  const Program q = import(p, a_record + b_record + record(f32, {3, 9}, std::string(108, '\0')));
  REQUIRE(q.inputs.size() == 2);
  CHECK(q[q.inputs[1]].name == "x.offsets");
  CHECK(q[q.inputs[1]].declared.str() == "int64[?]");
  CHECK_THAT(to_text(q), Catch::Contains("g = fluid_gru(y, w, -, -, x.offsets)"));

  p.mutable_blocks(0)->mutable_vars(2)->mutable_type()->mutable_lod_tensor()->set_lod_level(0);
  CHECK_THAT(
      error_of(Code::refused,
               [&] {
                 import(p, a_record + b_record + record(f32, {3, 9}, std::string(108, '\0')));
               }),
      Catch::Contains("gru node 'g'") && Catch::Contains("offsets"));
  p.mutable_blocks(0)->mutable_vars(2)->mutable_type()->mutable_lod_tensor()->set_lod_level(2);
  CHECK_THAT(
      error_of(Code::unsupported,
               [&] {
                 import(p, a_record + b_record + record(f32, {3, 9}, std::string(108, '\0')));
               }),
      Catch::Contains("'x' has 2 levels"));
}

TEST_CASE("paddle: every missing operator is named at once") {
  fluid::Program p = small();
  add_op(p, "frobnicate", {}, {});
  add_attr(add_op(p, "recurrent", {}, {}), "sub_block", 8);
  CHECK_THAT(error_of(Code::unsupported, [&] { import(p); }),
             Catch::Contains("frobnicate, recurrent (it owns a block)"));
}

TEST_CASE("paddle: programs that do not hang together are refused by name") {
  struct Case {
    void (*spoil)(fluid::Program&);
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {[](fluid::Program& p) { p.clear_blocks(); }, Code::refused, "no blocks"},
      {[](fluid::Program& p) { add_var(p, "x", {}); }, Code::refused, "'x' is declared twice"},
      {[](fluid::Program& p) { p.mutable_blocks(0)->mutable_vars(2)->clear_type(); }, Code::refused,
       "'x' has no type"},
      {[](fluid::Program& p) { p.mutable_blocks(0)->mutable_vars(2)->mutable_type()->set_type(8); },
       Code::unsupported, "'x' holds selected rows"},
      {[](fluid::Program& p) {
         p.mutable_blocks(0)
             ->mutable_vars(2)
             ->mutable_type()
             ->mutable_lod_tensor()
             ->mutable_tensor()
             ->set_data_type(25);
       },
       Code::unsupported, "'x' has the type STRING"},
      {[](fluid::Program& p) {
         p.mutable_blocks(0)
             ->mutable_vars(3)
             ->mutable_type()
             ->mutable_lod_tensor()
             ->mutable_tensor()
             ->set_dims(0, 3);
       },
       Code::refused, "parameter 'b': at byte"},
      {[](fluid::Program& p) {
         p.mutable_blocks(0)->mutable_ops(1)->mutable_inputs(0)->set_arguments(0, "s");
       },
       Code::refused, "reads 's' before it is written"},
      {[](fluid::Program& p) { p.mutable_blocks(0)->mutable_ops(1)->clear_inputs(); },
       Code::refused, "elementwise_add node 's': input"},
      {[](fluid::Program& p) {
         *p.mutable_blocks(0)->mutable_ops(1)->add_inputs() = p.blocks(0).ops(1).inputs(0);
       },
       Code::refused, "slot X is there twice"},
      {[](fluid::Program& p) { add_feed(p, "x", 1); }, Code::refused, "'x' is fed twice"},
      {[](fluid::Program& p) { add_feed(p, "s", 0); }, Code::refused, "column 0"},
      {[](fluid::Program& p) { add_feed(p, "q", 1); }, Code::refused, "'q' is not declared"},
      {[](fluid::Program& p) { add_fetch(p, "q", 1); }, Code::refused, "reads 'q'"},
      {[](fluid::Program& p) { p.mutable_blocks(0)->mutable_ops()->RemoveLast(); }, Code::refused,
       "fetches nothing"},
      {[](fluid::Program& p) { p.mutable_blocks(0)->mutable_ops(0)->clear_outputs(); },
       Code::refused, "must name one variable"},
      {[](fluid::Program& p) { add_attr(*p.mutable_blocks(0)->mutable_ops(1), "strange", 77); },
       Code::unsupported, "'strange'"},
  };
  for (const Case& c : cases) {
    fluid::Program p = small();
    c.spoil(p);
    CHECK_THAT(error_of(c.code, [&] { import(p); }), Catch::Contains(c.message));
  }
}

TEST_CASE("paddle: parameter files that are not right are refused with the place") {
  const std::string lod = little(1, 8) + little(16, 8) + little(0, 8) + little(2, 8);
  CHECK_NOTHROW(import(small(), a_record + record(f32, {2}, std::string(8, '\0'), lod)));
  const std::tuple<std::string, std::string> cases[] = {
      {b_record + a_record, "the file holds float32[2], the program declares int64[1]"},
      {a_record, "parameter 'b': at byte 32: "},
      {a_record + b_record + "x", "parameters end at byte 64, the file goes on to 65"},
      {little(1, 4) + a_record, "at byte 0: the version of the LoD tensor is 1"},
      {little(0, 4) + little(~uint64_t{0}, 8), "the size of a LoD level needs 8 bytes"},
      {little(0, 4) + little(1, 8) + little(~uint64_t{0}, 8),
       "a LoD level needs 18446744073709551615 bytes"},
      {little(0, 4) + little(0, 8) + little(9, 4), "the version of the tensor is 9"},
      {little(0, 4) + little(0, 8) + little(0, 4) + little(~0U, 4),
       "the size of the description is -1"},
      {little(0, 4) + little(0, 8) + little(0, 4) + little(2, 4) + "\xff\xff",
       "its description is damaged"},
      {little(0, 4) + little(0, 8) + little(0, 4) + little(0, 4), "no data type"},
  };
  for (const auto& [params, message] : cases)
    CHECK_THAT(error_of(Code::refused, [&, f = params] { import(small(), f); }),
               Catch::Contains(message));
}

TEST_CASE("import: files and folders are told by what they are") {
  const Scratch scratch;
  const std::string program = small().SerializeAsString(), params = a_record + b_record;
  scratch.put("pd/inference.pdmodel", program);
  scratch.put("pd/inference.pdiparams", params);
  scratch.put("combined/__model__", program);
  scratch.put("combined/__params__", params);
  scratch.put("separate/__model__", program);
  scratch.put("separate/a", a_record);
  scratch.put("separate/b", b_record);
  for (const char* path : {"pd", "pd/inference.pdmodel", "combined", "combined/__model__",
                           "separate", "separate/__model__"}) {
    INFO(path);
    CHECK(to_text(import_file(scratch / path)) == small_text);
  }
  CHECK(import_file(concat(HUB_SOURCE_DIR, "/tests/data/import/clip_missing_min/model.onnx"))
            .ops.size() == 1);
  CHECK(import_file(concat(HUB_SOURCE_DIR, "/tests/data/import/clip_missing_min")).ops.size() == 1);

  struct Case {
    std::string path, bytes;
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {"pir/inference.json", "{\"base_code\":{}}", Code::unsupported, "PIR"},
      {"w.safetensors", std::string("\x02\0\0\0\0\0\0\0{\"", 10), Code::unsupported, "safetensors"},
      {"w.onnx", data_file("tiny.pt"), Code::unsupported, "checkpoint"},
      {"w.bin", data_file("tiny.pth"), Code::unsupported, "checkpoint"},
      {"w.txt", "words", Code::refused, "no ONNX model"},
      {"empty.onnx", "", Code::refused, "no IR version"},
  };
  for (const Case& c : cases) {
    scratch.put(c.path, c.bytes);
    CHECK_THAT(error_of(c.code, [&] { import_file(scratch / c.path); }),
               Catch::Contains(c.message));
  }
  CHECK_THAT(error_of(Code::unsupported, [&] { import_file(scratch / "pir"); }),
             Catch::Contains("PIR"));
  CHECK_THAT(error_of(Code::not_found, [&] { import_file(scratch.path()); }),
             Catch::Contains("model.onnx"));
}

namespace {

/// Moves the last calls of block 0 into a block of their own, and gives its number.
int into_block(fluid::Program& p, int calls) {
  fluid::Block& block = *p.add_blocks();
  auto& ops = *p.mutable_blocks(0)->mutable_ops();
  for (int k = ops.size() - calls; k < ops.size(); ++k) *block.add_ops() = ops[k];
  ops.DeleteSubrange(ops.size() - calls, calls);
  return p.blocks_size() - 1;
}

void owns(fluid::Op& op, int block) { add_attr(op, "sub_block", 8).set_block_idx(block); }

void add_fill(fluid::Program& p, std::string name, float value) {
  fluid::Op& op = add_op(p, "fill_constant", {}, {{"Out", {name}}});
  add_attr(op, "value", 1).set_f(value);
  add_attr(op, "shape", 11).add_longs(1);
  add_attr(op, "dtype", 0).set_i(f32);
}

/// while (i < 3) { x *= b; i += 1 }, from i = 0.
fluid::Program looping() {
  fluid::Program p = small();
  p.mutable_blocks(0)->clear_ops();
  for (const char* name : {"i", "n", "t"}) add_var(p, name, {1});
  add_var(p, "c", {1}, false, boolean);
  add_feed(p, "x", 0);
  add_fill(p, "i", 0);
  add_fill(p, "n", 3);
  add_op(p, "assign", {{"X", {"x"}}}, {{"Out", {"s"}}});
  add_op(p, "less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"c"}}});
  add_op(p, "elementwise_mul", {{"X", {"s"}}, {"Y", {"b"}}}, {{"Out", {"local"}}});
  add_op(p, "assign", {{"X", {"local"}}}, {{"Out", {"s"}}});
  add_op(p, "increment", {{"X", {"i"}}}, {{"Out", {"i"}}});
  add_op(p, "less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"c"}}});
  const int body = into_block(p, 4);
  owns(add_op(p, "while", {{"X", {"s", "b", "i", "n"}}, {"Condition", {"c"}}},
              {{"Out", {"s", "i", "c"}}, {"StepScopes", {"scopes"}}}),
       body);
  add_op(p, "scale", {{"X", {"s"}}}, {{"Out", {"y"}}});
  add_fetch(p, "y", 0);
  return p;
}

/// sum(x) < 3 ? x * b : -(x), as two conditional blocks and a choice; then sum(x) < 3: y += b.
fluid::Program choosing() {
  fluid::Program p = small();
  p.mutable_blocks(0)->clear_ops();
  for (const char* name : {"n", "t", "mask"}) add_var(p, name, {1});
  add_var(p, "c", {1}, false, boolean);
  add_var(p, "d", {1}, false, boolean);
  add_feed(p, "x", 0);
  add_fill(p, "n", 3);
  add_op(p, "reduce_sum", {{"X", {"x"}}}, {{"Out", {"t"}}});
  add_attr(p.mutable_blocks(0)->mutable_ops()->at(2), "reduce_all", 6).set_b(true);
  add_op(p, "less_than", {{"X", {"t"}}, {"Y", {"n"}}}, {{"Out", {"c"}}});
  add_op(p, "logical_not", {{"X", {"c"}}}, {{"Out", {"d"}}});
  add_op(p, "elementwise_mul", {{"X", {"x"}}, {"Y", {"b"}}}, {{"Out", {"yes"}}});
  const int yes = into_block(p, 1);
  owns(add_op(p, "conditional_block", {{"Cond", {"c"}}, {"Input", {"x", "b"}}}, {{"Out", {"yes"}}}),
       yes);
  fluid::Op& negative = add_op(p, "scale", {{"X", {"x"}}}, {{"Out", {"no"}}});
  add_attr(negative, "scale", 1).set_f(-1);
  const int no = into_block(p, 1);
  owns(add_op(p, "conditional_block", {{"Cond", {"d"}}, {"Input", {"x"}}}, {{"Out", {"no"}}}), no);
  fluid::Op& cast = add_op(p, "cast", {{"X", {"c"}}}, {{"Out", {"mask"}}});
  add_attr(cast, "in_dtype", 0).set_i(boolean);
  add_attr(cast, "out_dtype", 0).set_i(2);
  add_op(p, "select_input", {{"X", {"no", "yes"}}, {"Mask", {"mask"}}}, {{"Out", {"y"}}});
  add_op(p, "elementwise_add", {{"X", {"y"}}, {"Y", {"b"}}}, {{"Out", {"y"}}});
  const int more = into_block(p, 1);
  owns(add_op(p, "conditional_block", {{"Cond", {"c"}}, {"Input", {"y", "b"}}}, {{"Out", {"y"}}}),
       more);
  add_fetch(p, "y", 0);
  return p;
}

std::vector<float> run(const fluid::Program& p, const std::vector<float>& x) {
  return Session(import(p)).run({Tensor::floats({1, 2}, x)})[0].to_floats();
}

}  // namespace

TEST_CASE("paddle: loops and choices") {
  CHECK(run(looping(), {2, 5}) == std::vector<float>{2, -40});
  CHECK(run(choosing(), {1, 1}) == std::vector<float>{2, -4});
  CHECK(run(choosing(), {1, 5}) == std::vector<float>{-1, -5});

  fluid::Program p = looping();
  p.mutable_blocks(0)->mutable_ops(5)->mutable_attrs(0)->set_block_idx(7);
  CHECK_THAT(error_of(Code::refused, [&] { import(p); }), Catch::Contains("block 7"));
  p.mutable_blocks(0)->mutable_ops(5)->mutable_attrs(0)->set_block_idx(0);
  CHECK_THAT(error_of(Code::refused, [&] { import(p); }), Catch::Contains("block 0"));
  p = choosing();
  p.clear_version();  // as below
  check_damage(p.SerializeAsString(), [](const std::string& bytes) {
    import_paddle(MemoryFiles({{"p", bytes}, {"w", a_record + b_record}}), RelPath::parse("p"),
                  "w");
  });
}

TEST_CASE("paddle: cut and damaged files") {
  fluid::Program p = small();
  p.clear_version();  // the last field, and one that may be missing
  check_damage(p.SerializeAsString(), [](const std::string& bytes) {
    import_paddle(MemoryFiles({{"p", bytes}, {"w", a_record + b_record}}), RelPath::parse("p"),
                  "w");
  });
  check_damage(a_record + b_record, [](const std::string& bytes) { import(small(), bytes); });
}
