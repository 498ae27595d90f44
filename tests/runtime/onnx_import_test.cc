#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "runtime/import/onnx.pb.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

onnx::Node& add_node(auto& graph, std::string type, std::vector<std::string> in,
                     std::vector<std::string> out, std::string domain = {}) {
  onnx::Node& node = *graph.add_node();
  node.set_op_type(type);
  node.set_domain(domain);
  for (auto& name : in) node.add_input(name);
  for (auto& name : out) node.add_output(name);
  return node;
}

void set_type(onnx::ValueInfo& info, std::string name, std::vector<int64_t> dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(1);
  type.mutable_shape();
  for (int64_t d : dims) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (d >= 0)
      dim.set_dim_value(d);
    else
      dim.set_dim_param("n");
  }
}

onnx::Tensor& add_initializer(onnx::Model& model, std::string name, int type,
                              std::vector<int64_t> dims) {
  onnx::Tensor& t = *model.mutable_graph()->add_initializer();
  t.set_name(name);
  t.set_data_type(type);
  for (int64_t d : dims) t.add_dims(d);
  return t;
}

/// y = relu(x + w)
onnx::Model small() {
  onnx::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::Graph& graph = *model.mutable_graph();
  graph.set_name("small");
  set_type(*graph.add_input(), "x", {-1, 2});
  set_type(*graph.add_output(), "y", {-1, 2});
  onnx::Tensor& w = add_initializer(model, "w", 1, {2});
  w.add_float_data(1);
  w.add_float_data(-2);
  add_node(graph, "Add", {"x", "w"}, {"s"});
  add_node(graph, "Relu", {"s"}, {"y"});
  return model;
}

Program import(const onnx::Model& model, std::map<std::string, std::string> files = {}) {
  files["m.onnx"] = model.SerializeAsString();
  return import_onnx(MemoryFiles(files), RelPath::parse("m.onnx"));
}

Program import_case(const std::string& folder) {
  return import_onnx(FolderFiles(concat(HUB_SOURCE_DIR, "/tests/data/import/", folder)),
                     RelPath::parse("model.onnx"));
}

}  // namespace

TEST_CASE("onnx: a small model") {
  CHECK(to_text(import(small())) == R"(program "small"
input x: float32[?, 2]
constant w: float32[2] = [1, -2]
s = add(x, w)
y = relu(s)
output y: float32[?, 2]
)");
}

TEST_CASE("onnx: nodes are put in order, calls carry the names of their nodes") {
  onnx::Model model = small();
  auto& nodes = *model.mutable_graph()->mutable_node();
  nodes.SwapElements(0, 1);
  nodes[0].set_name("last");
  const Program p = import(model);
  CHECK(to_text(p) == to_text(import(small())));
  CHECK(p.ops[0].name == "s");
  CHECK(p.ops[1].name == "last");
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"a"});
  add_node(*model.mutable_graph(), "Abs", {"x"}, {"b"});
  CHECK_THAT(to_text(import(model)), Catch::Contains("y = relu(s)\na = neg(x)\nb = abs(x)\n"));
}

TEST_CASE("onnx: cases from the wild that must import") {
  const Program listed = import_case("init_in_inputs_ir3");
  REQUIRE(listed.inputs.size() == 1);
  CHECK(listed[listed.inputs[0]].name == "x");
  CHECK(import_case("clip_missing_min").ops.size() == 1);
  const Program external = import_case("external_ok");
  const auto constants = std::count_if(external.values.begin(), external.values.end(),
                                       [](const Value& v) { return bool(v.constant); });
  CHECK(constants == 1);
}

TEST_CASE("onnx: cases from the wild that must be refused by name") {
  const std::tuple<const char*, Code, const char*> cases[] = {
      {"ir_version_99", Code::unsupported, "IR version 99"},
      {"opset_999", Code::unsupported, "version 999"},
      {"unknown_domain_op", Code::unsupported, "com.example:Frobnicate"},
      {"external_parent/m", Code::refused, "../secret.bin"},
      {"external_absolute/m", Code::refused, "/etc/hostname"},
      {"external_missing/m", Code::not_found, "weights.bin"},
  };
  for (const auto& [folder, code, message] : cases)
    CHECK_THAT(error_of(code, [&, f = folder] { import_case(f); }), Catch::Contains(message));
}

TEST_CASE("onnx: every missing operator is named at once") {
  onnx::Model model = small();
  add_node(*model.mutable_graph(), "Frob", {"x"}, {"a"}).set_name("first");
  add_node(*model.mutable_graph(), "Nicate", {"x"}, {"b"}, "com.acme");
  add_node(*model.mutable_graph(), "Chorus", {"x"}, {"c"}).add_attribute()->mutable_g();
  CHECK_THAT(error_of(Code::unsupported, [&] { import(model); }),
             Catch::Contains("Frob (opset 17, node 'first')") &&
                 Catch::Contains("com.acme:Nicate") &&
                 Catch::Contains("Chorus (opset 17, node 'c', holds a subgraph)"));
}

TEST_CASE("onnx: graphs in nodes read values and constants of the graph around them") {
  onnx::Model model = small();
  onnx::Graph& graph = *model.mutable_graph();
  graph.mutable_node()->RemoveLast();
  set_type(*graph.add_input(), "c", {});
  graph.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(9);
  onnx::Node& choice = add_node(graph, "If", {"c"}, {"y"});
  for (const auto& [name, op] : {std::pair{"then_branch", "Mul"}, {"else_branch", "Sub"}}) {
    onnx::Attribute& a = *choice.add_attribute();
    a.set_name(name);
    add_node(*a.mutable_g(), op, {"s", "w"}, {"r"});
    a.mutable_g()->add_output()->set_name("r");
  }
  CHECK_THAT(to_text(import(model)), Catch::Contains(R"(s = add(x, w)
y = if(c, s, s)
  else:
    input %3
    input s
    constant w: float32[2] = [1, -2]
    r = sub(s, w)
    output r
)"));
  choice.mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(1, "nowhere");
  CHECK_THAT(error_of(Code::refused, [&] { import(model); }),
             Catch::Contains("reads 'nowhere', which nothing defines"));
}

TEST_CASE("onnx: typed fields and raw bytes") {
  onnx::Model model = small();
  onnx::Graph& graph = *model.mutable_graph();
  const auto use = [&](const std::string& name) {
    add_node(graph, "Identity", {name}, {name + "_out"});
    graph.add_output()->set_name(name + "_out");
  };
  onnx::Tensor& u8 = add_initializer(model, "u8", 2, {2});
  u8.add_int32_data(0);
  u8.add_int32_data(255);
  add_initializer(model, "half", 10, {1}).add_int32_data(0x3c00);
  add_initializer(model, "u32", 12, {}).add_uint64_data(0xffffffff);
  add_initializer(model, "i64", 7, {1})
      .set_raw_data(std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8));
  add_initializer(model, "empty", 1, {0});
  for (const char* name : {"u8", "half", "u32", "i64", "empty"}) use(name);
  const Program p = import(model);
  const auto tensor = [&](std::string_view name) { return p[p.find(name)].constant; };
  CHECK(tensor("u8").to_ints() == std::vector<int64_t>{0, 255});
  CHECK(tensor("half").to_floats() == std::vector<float>{1});
  CHECK(tensor("u32").to_ints() == std::vector<int64_t>{0xffffffff});
  CHECK(tensor("i64").to_ints() == std::vector<int64_t>{-2});
  CHECK(tensor("empty").shape() == Shape{0});
}

TEST_CASE("onnx: tensors that are not right are refused by name") {
  struct Case {
    void (*spoil)(onnx::Tensor&);
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {[](onnx::Tensor& t) { t.add_dims(3); }, Code::refused, "float32[2, 3] holds 2 numbers"},
      {[](onnx::Tensor& t) { t.set_dims(0, -2); }, Code::refused, "negative"},
      {[](onnx::Tensor& t) {
         t.set_dims(0, int64_t{1} << 62);
         t.add_dims(8);
       },
       Code::refused, "addressed"},
      {[](onnx::Tensor& t) { t.set_raw_data("1234"); }, Code::refused,
       "needs 8 bytes, there are 4"},
      {[](onnx::Tensor& t) { t.set_data_type(8); }, Code::refused, "string"},
      {[](onnx::Tensor& t) { t.set_data_type(22); }, Code::refused, "int4"},
      {[](onnx::Tensor& t) { t.set_data_type(23); }, Code::unsupported, "float4e2m1"},
      {[](onnx::Tensor& t) { t.set_data_type(99); }, Code::unsupported, "unknown type 99"},
      {[](onnx::Tensor& t) {
         t.set_data_type(2);
         t.add_int32_data(256);
         t.add_int32_data(0);
       },
       Code::refused, "256 does not fit"},
      {[](onnx::Tensor& t) { t.mutable_segment()->set_begin(0); }, Code::unsupported, "segments"},
      {[](onnx::Tensor& t) { t.set_data_location(2); }, Code::refused, "location 2"},
  };
  for (const Case& c : cases) {
    onnx::Model model = small();
    c.spoil(*model.mutable_graph()->mutable_initializer(0));
    CHECK_THAT(error_of(c.code, [&] { import(model); }),
               Catch::Contains("tensor 'w'") && Catch::Contains(c.message));
  }
}

TEST_CASE("onnx: external data") {
  struct Case {
    std::map<std::string, std::string> entries;
    Code code;
    std::string message;
  };
  const std::string bytes("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12);  // 0, 1, 2
  const auto model_with = [](const std::map<std::string, std::string>& entries) {
    onnx::Model model = small();
    onnx::Tensor& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_data_location(1);
    for (const auto& [key, value] : entries) {
      w.add_external_data()->set_key(key);
      w.mutable_external_data()->rbegin()->set_value(value);
    }
    return model;
  };
  const Program p = import(
      model_with({{"location", "d/w.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "x"}}),
      {{"d/w.bin", bytes}});
  CHECK(p[p.find("w")].constant.to_floats() == std::vector<float>{1, 2});
  const Case cases[] = {
      {{{"location", "w.bin"}, {"offset", "5"}}, Code::refused, "past the end of 'w.bin'"},
      {{{"location", "w.bin"}, {"offset", "-1"}}, Code::refused, "offset '-1'"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551615"}}, Code::refused, "past the end"},
      {{{"location", "w.bin"}, {"offset", "99999999999999999999"}},
       Code::refused,
       "offset '99999999999999999999'"},
      {{{"location", "w.bin"}, {"length", "4"}}, Code::refused, "length 4"},
      {{{"location", "w.bin"}, {"basepath", "/"}}, Code::refused, "'basepath'"},
      {{{"location", "a/../w.bin"}}, Code::refused, "a/../w.bin"},
      {{{"offset", "0"}}, Code::refused, "empty"},
      {{{"location", "other.bin"}}, Code::not_found, "other.bin"},
  };
  for (const Case& c : cases)
    CHECK_THAT(error_of(c.code, [&] { import(model_with(c.entries),
                                             {{ "w.bin",
                                                bytes }}); }),
               Catch::Contains(c.message));
}

TEST_CASE("onnx: graphs that do not hang together are refused by name") {
  struct Case {
    void (*spoil)(onnx::Model&);
    Code code;
    std::string message;
  };
  const Case cases[] = {
      {[](onnx::Model& m) { m.clear_opset_import(); }, Code::refused, "no operator set"},
      {[](onnx::Model& m) { m.mutable_opset_import(0)->set_version(0); }, Code::unsupported,
       "ai.onnx version 0"},
      {[](onnx::Model& m) { m.add_opset_import()->set_version(17); }, Code::refused, "twice"},
      {[](onnx::Model& m) { m.clear_ir_version(); }, Code::refused, "no IR version"},
      {[](onnx::Model& m) { m.clear_graph(); }, Code::refused, "no graph"},
      {[](onnx::Model& m) { m.mutable_graph()->clear_output(); }, Code::refused, "no outputs"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); }, Code::refused,
       "'z', which nothing defines"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "z"); }, Code::refused,
       "node 's' reads 'z'"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "y"); }, Code::refused,
       "depends on its own output"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "y"); },
       Code::refused, "'y' is defined twice"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "w"); },
       Code::refused, "'w' is defined twice"},
      {[](onnx::Model& m) { add_initializer(m, "w", 1, {0}); }, Code::refused,
       "'w' is defined twice"},
      {[](onnx::Model& m) { *m.mutable_graph()->add_input() = m.graph().input(0); }, Code::refused,
       "'x' is listed twice"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->set_input(1, ""); }, Code::refused,
       "Add node 's'"},
      {[](onnx::Model& m) { m.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast(); },
       Code::refused, "Add node 's'"},
      {[](onnx::Model& m) {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_map_type();
       },
       Code::unsupported, "'x' is no tensor, sequence of tensors"},
      {[](onnx::Model& m) {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             14);
       },
       Code::unsupported, "'x' has the type complex64"},
      {[](onnx::Model& m) { m.mutable_graph()->add_sparse_initializer(); }, Code::unsupported,
       "sparse"},
      {[](onnx::Model& m) {
         m.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
         m.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
       },
       Code::refused, "'a' is there twice"},
      {[](onnx::Model& m) {
         m.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
         m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_ref_attr_name("r");
       },
       Code::refused, "no function"},
  };
  for (const Case& c : cases) {
    onnx::Model model = small();
    c.spoil(model);
    CHECK_THAT(error_of(c.code, [&] { import(model); }), Catch::Contains(c.message));
  }
}

TEST_CASE("onnx: inputs and constants as outputs get a value of their own") {
  onnx::Model model = small();
  for (const char* name : {"x", "w", "y"}) model.mutable_graph()->add_output()->set_name(name);
  const Program p = import(model);
  REQUIRE(p.outputs.size() == 4);
  CHECK(p[p.outputs[0]].name == "y");
  CHECK(p[p.outputs[1]].name == "x~1");
  CHECK(p[p.outputs[2]].name == "w~1");
  CHECK(p[p.outputs[3]].name == "y~1");
}

TEST_CASE("onnx: Constant nodes") {
  struct Case {
    void (*fill)(onnx::Attribute&);
    std::string text;
  };
  const Case cases[] = {
      {[](onnx::Attribute& a) {
         a.set_name("value_float");
         a.set_type(1);
         a.set_f(2.5F);
       },
       "float32[] = [2.5]"},
      {[](onnx::Attribute& a) {
         a.set_name("value_int");
         a.set_type(2);
         a.set_i(-4);
       },
       "int64[] = [-4]"},
      {[](onnx::Attribute& a) {
         a.set_name("value_ints");
         a.set_type(7);
         a.add_ints(1);
         a.add_ints(2);
       },
       "int64[2] = [1, 2]"},
      {[](onnx::Attribute& a) {
         a.set_name("value_floats");
         a.set_type(6);
         a.add_floats(0.5F);
       },
       "float32[1] = [0.5]"},
      {[](onnx::Attribute& a) {
         a.set_name("value");
         a.set_type(4);
         a.mutable_t()->set_data_type(9);
         a.mutable_t()->add_int32_data(1);
       },
       "bool[] = [1]"},
  };
  for (const Case& c : cases) {
    onnx::Model model = small();
    c.fill(*add_node(*model.mutable_graph(), "Constant", {}, {"k"}).add_attribute());
    CHECK_THAT(to_text(import(model)), Catch::Contains("constant k: " + c.text + "\n"));
  }
  onnx::Model model = small();
  onnx::Attribute& text = *add_node(*model.mutable_graph(), "Constant", {}, {"k"}).add_attribute();
  text.set_name("value_string");
  text.set_type(3);
  text.set_s("word");
  CHECK_THAT(to_text(import(model)), Catch::Contains("constant k: string[]"));
}

TEST_CASE("onnx: functions of the model are written out") {
  onnx::Model model = small();
  onnx::Function& f = *model.add_functions();
  f.set_name("Soft");
  f.set_domain("my.own");
  f.add_input("in");
  f.add_input("unused");
  f.add_output("out");
  f.add_opset_import()->set_version(17);
  f.add_attribute("k");
  add_node(f, "Relu", {"in"}, {"t"});
  onnx::Attribute& axis = *add_node(f, "Softmax", {"t"}, {"out"}).add_attribute();
  axis.set_name("axis");
  axis.set_type(2);
  axis.set_ref_attr_name("k");
  onnx::Graph& graph = *model.mutable_graph();
  graph.mutable_node(1)->set_op_type("Soft");
  graph.mutable_node(1)->set_domain("my.own");
  onnx::Attribute& k = *graph.mutable_node(1)->add_attribute();
  k.set_name("k");
  k.set_type(2);
  k.set_i(1);
  model.add_opset_import()->set_domain("my.own");
  model.mutable_opset_import(1)->set_version(1);
  CHECK_THAT(to_text(import(model)),
             Catch::Contains("Soft#1/t = relu(s)\ny = softmax(Soft#1/t) axis=1\n"));

  SECTION("an attribute that the call leaves out is absent") {
    graph.mutable_node(1)->clear_attribute();
    CHECK_THAT(to_text(import(model)), Catch::Contains("axis=-1"));
  }
  SECTION("functions that call themselves are refused") {
    f.mutable_node(0)->set_op_type("Soft");
    f.mutable_node(0)->set_domain("my.own");
    CHECK_THAT(error_of(Code::refused, [&] { import(model); }), Catch::Contains("32 deep"));
  }
  SECTION("functions that grow without end are refused") {
    onnx::Function base = f;
    for (int level = 0; level < 28; ++level) {
      onnx::Function& next = *model.add_functions();
      next = base;
      next.set_name("Level" + std::to_string(level));
      next.mutable_node(1)->clear_attribute();
      for (int i : {0, 1}) {
        next.mutable_node(i)->set_op_type(level == 0 ? "Soft"
                                                     : "Level" + std::to_string(level - 1));
        next.mutable_node(i)->set_domain("my.own");
      }
    }
    graph.mutable_node(1)->set_op_type("Level27");
    CHECK_THAT(error_of(Code::refused, [&] { import(model); }), Catch::Contains("written out"));
  }
}

TEST_CASE("onnx: graphs nested in each other are refused, not followed") {
  onnx::Model model = small();
  onnx::Graph* graph = model.mutable_graph();
  for (int i = 0; i < 200; ++i) graph = graph->add_node()->add_attribute()->mutable_g();
  CHECK_THAT(error_of(Code::refused, [&] { import(model); }),
             Catch::Contains("no ONNX file, or a damaged one"));
}

TEST_CASE("onnx: cut and damaged files") {
  onnx::Model model = small();
  model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(8, '\1'));
  check_damage(model.SerializeAsString(), [](const std::string& bytes) {
    import_onnx(MemoryFiles({{"m.onnx", bytes}}), RelPath::parse("m.onnx"));
  });
}
