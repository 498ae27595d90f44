// Calls made to do harm: rows TEN-1 to TEN-4 of the fault list. What asks for too much is refused
// before anything is taken, and no number leads out of a tensor or to a division by zero.
#include <catch2/catch.hpp>

#include "runtime/budget.h"
#include "runtime/import/import.h"
#include "runtime/import/onnx.pb.h"
#include "runtime/session.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/peak.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

using ints = std::vector<int64_t>;
constexpr size_t mib = size_t{1} << 20;

/// One node of the newest operator set with these inputs (empty: absent); `computed` of them are
/// inputs of the graph, the others initializers.
struct Node {
  std::string type;
  std::vector<Tensor> in;
  Attrs attrs = {};
  int outputs = 1;
};

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1;
    case DType::u8: return 2;
    case DType::i32: return 6;
    case DType::i64: return 7;
    case DType::boolean: return 9;
    default: FAIL("a type that the test does not know"); return 0;
  }
}

void fill(onnx::Tensor& to, const Tensor& t) {
  to.set_data_type(onnx_type(t.dtype()));
  for (int64_t d : t.shape()) to.add_dims(d);
  to.set_raw_data(std::string(static_cast<const char*>(t.raw()), t.bytes()));
}

onnx::Model model_of(const Node& n, bool computed) {
  onnx::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::Graph& graph = *model.mutable_graph();
  onnx::Node& node = *graph.add_node();
  node.set_op_type(n.type);
  for (size_t i = 0; i < n.in.size(); ++i) {
    const std::string name = n.in[i] ? concat("x", i) : std::string();
    node.add_input(name);
    if (!n.in[i]) continue;
    if (computed) {
      onnx::ValueInfo& info = *graph.add_input();
      info.set_name(name);
      info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx_type(n.in[i].dtype()));
    } else {
      fill(*graph.add_initializer(), n.in[i]);
      graph.mutable_initializer()->rbegin()->set_name(name);
    }
  }
  for (int i = 0; i < n.outputs; ++i) {
    node.add_output(concat("y", i));
    graph.add_output()->set_name(concat("y", i));
  }
  for (const auto& [name, value] : n.attrs.items()) {
    onnx::Attribute& a = *node.add_attribute();
    a.set_name(name);
    if (const auto* v = std::get_if<int64_t>(&value)) {
      a.set_type(2);
      a.set_i(*v);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      a.set_type(3);
      a.set_s(*s);
    } else if (const auto* list = std::get_if<ints>(&value)) {
      a.set_type(7);
      for (int64_t k : *list) a.add_ints(k);
    } else {
      a.set_type(4);
      fill(*a.mutable_t(), std::get<Tensor>(value));
    }
  }
  return model;
}

std::vector<Tensor> run(const onnx::Model& model, const std::vector<Tensor>& inputs,
                        const char* device) {
  const MemoryFiles files({{"m.onnx", model.SerializeAsString()}});
  Session session(import_onnx(files, RelPath::parse("m.onnx")),
                  {.device = device, .pack_file = {}, .states = {}});
  return session.run(inputs);
}

/// With constants that are folded, with numbers that come at the run, and on both devices: the
/// message of the refusal, or nothing; it must be the same class of answer each time.
std::string refusal(const Node& n) {
  std::vector<Tensor> given;
  for (const Tensor& t : n.in)
    if (t) given.push_back(t);
  std::string message, first;
  for (const char* device : {"reference", "cpu"})
    for (bool computed : {false, true}) {
      INFO(n.type << (computed ? " computed on " : " constant on ") << device);
      message.clear();
      try {
        run(model_of(n, computed), computed ? given : std::vector<Tensor>{}, device);
      } catch (const Error& e) {
        message = e.what();
        CHECK((e.code() == Code::refused || e.code() == Code::unsupported ||
               e.code() == Code::numeric));
      }
      if (first.empty()) first = message;
      CHECK(message.empty() == first.empty());
    }
  return first;
}

/// y0 is what is left of x, y1 all rounds of it: for the trip count and a condition that never ends
/// it.
onnx::Model loop(int64_t trips, bool scans, bool endless_condition) {
  onnx::Model model =
      model_of({"Loop", {i(ints{trips}).reshaped({}), Tensor(), f({2}, {1, 2})}}, false);
  onnx::Node& node = *model.mutable_graph()->mutable_node(0);
  onnx::Attribute& a = *node.add_attribute();
  a.set_name("body");
  a.set_type(5);
  onnx::Graph& body = *a.mutable_g();
  for (const char* name : {"i", "c", "x"}) body.add_input()->set_name(name);
  const auto add = [&](const char* type, std::vector<const char*> in, const char* out) {
    onnx::Node& n = *body.add_node();
    n.set_op_type(type);
    for (const char* name : in) n.add_input(name);
    n.add_output(out);
  };
  if (endless_condition) {
    add("Equal", {"i", "i"}, "on");
  } else {
    add("Identity", {"c"}, "on");
  }
  add("Neg", {"x"}, "z");
  body.add_output()->set_name("on");
  body.add_output()->set_name("z");
  if (scans) {
    add("Abs", {"x"}, "s");
    body.add_output()->set_name("s");
    node.add_output("y1");
    model.mutable_graph()->add_output()->set_name("y1");
  }
  return model;
}

}  // namespace

TEST_CASE("TEN-1: more than can be had is refused before anything is taken") {
  const int64_t much = int64_t{1} << 40, most = INT64_MAX;
  const Tensor one = f({1, 1, 1, 1}, {1});
  const std::vector<Node> nodes = {
      {"ConstantOfShape", {i({much, much})}},
      {"ConstantOfShape", {i({most})}},
      {"ConstantOfShape", {i({int64_t{1} << 61})}},  // the elements fit, the bytes do not
      {"ConstantOfShape", {i({much})}},
      {"ConstantOfShape", {i(ints(64, 1))}},
      {"ConstantOfShape", {i({-1})}},
      {"Expand", {one, i({much, much, 4, 4})}},
      {"Expand", {one, i({much})}},
      {"Expand", {one, i(ints(64, 2))}},
      {"Tile", {one, i({much, much, 1, 1})}},
      {"Tile", {one, i({1, 1, 1, most})}},
      {"Tile", {one, i({1, 1, 1, -1})}},
      {"Pad", {one, i({0, 0, 0, 0, 0, 0, 0, much})}},
      {"Pad", {one, i({most, most, most, most, most, most, most, most})}},
      {"Pad", {one, i({INT64_MIN, 0, 0, 0, 0, 0, 0, 0})}},
      {"Resize", {one, Tensor(), Tensor(), i({1, 1, much, 1})}},
      {"Resize", {one, Tensor(), Tensor(), i({most, most, most, most})}},
      {"Resize", {one, Tensor(), f({4}, {1, 1, 1e30F, 1e30F}), Tensor()}},
      {"Resize", {one, Tensor(), f({4}, {1, 1, NAN, 1}), Tensor()}},
      {"Resize", {one, Tensor(), f({4}, {1, 1, INFINITY, 1}), Tensor()}},
      {"Range", {i({0}).reshaped({}), i({most}).reshaped({}), i({1}).reshaped({})}},
      {"Range", {f(0), f(INFINITY), f(1)}},
      {"Range", {f(0), f(NAN), f(1)}},
      {"OneHot", {i({0, 1}), i({much}).reshaped({}), f({2}, {0, 1})}},
      {"ConstantOfShape", {i({int64_t{1} << 32, int64_t{1} << 32})}},
      {"DepthToSpace", {one}, {{"blocksize", most}}},
      {"Reshape", {one, i({most, most, -1})}},
      {"Unsqueeze", {one, i({0, 1, 2, 3, 4, 5})}},
      {"EyeLike", {f({1, 1}, {1})}, {{"k", most}}},
  };
  for (const Node& n : nodes) {
    INFO(n.type << ' ' << (n.in.size() > 1 && n.in[1] ? n.in[1].spec().str() : ""));
    // Ranges of NaN and diagonals far outside have nothing in them.
    const bool defined =
        n.type == "EyeLike" ||
        (n.type == "Range" && n.in[0].dtype() == DType::f32 && std::isnan(*n.in[1].data<float>()));
    std::string message;
    CHECK(peak_growth([&] { message = refusal(n); }) < 64 * mib);
    CHECK(message.empty() == defined);
  }
}

TEST_CASE("TEN-1: loops that ask for too much are refused before they run, or when it is reached") {
  for (const char* device : {"reference", "cpu"}) {
    INFO(device);
    for (int64_t trips : {INT64_MAX, int64_t{1} << 62, int64_t{1} << 40})
      for (bool scans : {false, true}) {
        INFO(trips << (scans ? " stacked" : ""));
        CHECK(peak_growth([&] {
                error_of(Code::refused, [&] { run(loop(trips, scans, false), {}, device); });
              }) < 64 * mib);
      }
    // Its condition is computed, so nobody knows how long it goes on: the memory of its results
    // ends it.
    CHECK(peak_growth([&] {
            const Budget budget(mib / 8);
            CHECK_THAT(
                error_of(Code::refused, [&] { run(loop(INT64_MAX, true, true), {}, device); }),
                Catch::Contains("this run may take"));
          }) < 64 * mib);
    CHECK(run(loop(3, true, true), {}, device)[1].shape() == Shape{3, 2});
    CHECK(run(loop(-1, false, false), {}, device)[0].to_floats() == std::vector<float>{1, 2});
  }
}

TEST_CASE("TEN-1: a budget counts what lives, and what was made") {
  const auto outlives = [] {
    const Budget budget(mib);
    Tensor kept(DType::u8, {1000});
    for (int k = 0; k < 100; ++k) Tensor(DType::u8, {100'000});
    CHECK(memory_left() < mib - 1000);
    CHECK_THAT(error_of(Code::refused, [] { Tensor(DType::u8, {1 << 20}); }),
               Catch::Contains("uint8[1048576]"));
    const Budget larger(64 * mib);  // inside another one: no effect
    error_of(Code::refused, [] { Tensor(DType::u8, {1 << 20}); });
    return kept;
  };
  CHECK_THAT(error_of(Code::refused, [] { in_memory([] { throw std::bad_alloc(); }); }),
             Catch::Contains("not enough memory"));
  const Tensor kept = outlives();
  CHECK_NOTHROW(Tensor(DType::u8, {1 << 20}));
  const Budget all(mib, 2 * mib);
  error_of(Code::refused, [] {
    for (int k = 0; k < 100; ++k) Tensor(DType::u8, {100'000});
  });
}

TEST_CASE("TEN-2: zeros and negative numbers where sizes belong") {
  const Tensor image = noise({1, 2, 4, 4});
  const Tensor kernel = noise({2, 2, 3, 3});
  const Tensor five = i({1, 2, 3, 4, 5});
  const ints zero{0, 0}, minus{-1, -1}, huge{INT64_MAX, INT64_MAX};
  const std::vector<Node> refused = {
      {"Conv", {image, kernel}, {{"strides", zero}}},
      {"Conv", {image, kernel}, {{"strides", minus}}},
      {"Conv", {image, kernel}, {{"dilations", zero}}},
      {"Conv", {image, kernel}, {{"dilations", huge}}},
      {"Conv", {image, kernel}, {{"group", int64_t{0}}}},
      {"Conv", {image, kernel}, {{"group", int64_t{-1}}}},
      {"Conv", {image, kernel}, {{"pads", ints{-9, -9, -9, -9}}}},
      {"Conv", {image, kernel}, {{"pads", ints{INT64_MAX, 1, INT64_MAX, 1}}}},
      {"ConvTranspose", {image, kernel}, {{"strides", zero}}},
      {"ConvTranspose", {image, kernel}, {{"strides", huge}}},
      {"ConvTranspose", {image, kernel}, {{"group", int64_t{0}}}},
      {"ConvTranspose", {image, kernel}, {{"dilations", zero}}},
      {"MaxPool", {image}, {{"kernel_shape", zero}}},
      {"MaxPool", {image}, {{"kernel_shape", ints{2, 2}}, {"strides", zero}}},
      {"MaxPool", {image}, {{"kernel_shape", huge}}},
      {"AveragePool", {image}, {{"kernel_shape", ints{2, 2}}, {"strides", minus}}},
      {"AveragePool", {image}, {{"kernel_shape", minus}}},
      {"DepthToSpace", {image}, {{"blocksize", int64_t{0}}}},
      {"SpaceToDepth", {image}, {{"blocksize", int64_t{0}}}},
      {"SpaceToDepth", {image}, {{"blocksize", int64_t{-2}}}},
      {"Concat", {image, image}, {{"axis", int64_t{9}}}},
      {"Concat", {image, image}, {{"axis", INT64_MIN}}},
      {"Softmax", {image}, {{"axis", int64_t{4}}}},
      {"Flatten", {image}, {{"axis", int64_t{5}}}},
      {"Transpose", {image}, {{"perm", ints{0, 1, 1, 2}}}},
      {"Transpose", {image}, {{"perm", ints{0, 1, 2, 4}}}},
      {"Gather", {image, i({0})}, {{"axis", int64_t{-5}}}},
      {"Split", {image, i({0, 0})}, {{"axis", int64_t{1}}}, 2},
      {"Split", {image, i({-1, 3})}, {{"axis", int64_t{1}}}, 2},
      {"Split", {image, i({INT64_MAX, INT64_MAX})}, {{"axis", int64_t{1}}}, 2},
      {"TopK", {five, i({6})}, {}, 2},
      {"TopK", {five, i({-1})}, {}, 2},
      {"TopK", {five, i({INT64_MAX})}, {}, 2},
      {"ArgMax", {Tensor(DType::f32, {0, 2})}, {{"axis", int64_t{0}}}},
      {"Range", {i({0}).reshaped({}), i({9}).reshaped({}), i({0}).reshaped({})}},
      {"Slice", {five, i({0}), i({5}), i({0}), i({0})}},
      {"Squeeze", {image, i({1})}},
      {"Reshape", {image, i({0, 0, -1, -1})}},
      {"Reshape", {Tensor(DType::f32, {0, 2}), i({0, -1})}},
      {"Trilu", {five}},
  };
  for (const Node& n : refused) {
    INFO(n.type << ' ' << (n.attrs.items().empty() ? "" : n.attrs.items().begin()->first));
    CHECK(!refusal(n).empty());
  }
  // Integer division by zero and of the smallest number by -1, and settings at their limits, have
  // an answer or a refusal, not a signal.
  const Tensor low = t<int32_t>({2}, {INT32_MIN, 7}), by = t<int32_t>({2}, {-1, 0});
  const Tensor low64 = i({INT64_MIN, 7}), by64 = i({-1, 0});
  for (const Node& n : std::vector<Node>{
           {"Div", {low, by}},
           {"Mod", {low, by}},
           {"Div", {low64, by64}},
           {"Mod", {low64, by64}},
           {"Mod", {low64, by64}, {{"fmod", int64_t{1}}}},
           {"Neg", {low64}},
           {"Abs", {low64}},
           {"Pow", {low64, by64}},
           {"BitShift",
            {t<uint8_t>({1}, {1}), t<uint8_t>({1}, {200})},
            {{"direction", std::string("LEFT")}}},
           {"Slice", {five, i({INT64_MIN}), i({INT64_MAX}), i({0}), i({INT64_MAX})}},
           {"Slice", {five, i({INT64_MAX}), i({INT64_MIN}), i({0}), i({INT64_MIN})}},
           {"Shape", {image}, {{"start", INT64_MIN}, {"end", INT64_MAX}}},
           {"Trilu", {f({2, 2}, {1, 2, 3, 4}), i({INT64_MIN}).reshaped({})}},
           {"CumSum", {five, i({INT64_MIN}).reshaped({})}},
           {"LRN", {image}, {{"size", INT64_MAX}}},
           {"ReduceSum", {Tensor(DType::f32, {0, 2}), i({0})}},
           {"ReduceMax", {Tensor(DType::f32, {0, 2})}, {{"axes", ints{0}}}},
           {"Softmax", {Tensor(DType::f32, {2, 0})}},
           {"MatMul", {Tensor(DType::f32, {2, 0}), Tensor(DType::f32, {0, 3})}},
           {"Conv", {Tensor(DType::f32, {0, 2, 4, 4}), kernel}},
           {"GlobalAveragePool", {Tensor(DType::f32, {1, 2, 0, 4})}},
           {"MaxPool", {Tensor(DType::f32, {1, 2, 0, 4})}, {{"kernel_shape", ints{1, 1}}}},
           {"LayerNormalization", {Tensor(DType::f32, {2, 0}), Tensor(DType::f32, {0})}},
       }) {
    INFO(n.type);
    refusal(n);
  }
}

TEST_CASE("TEN-3: indices that lead out of their tensor") {
  const Tensor x = f({2, 2}, {1, 2, 3, 4});
  const Tensor boxes = f({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  const Tensor scores = f({1, 1, 2}, {0.9F, 0.8F});
  for (int64_t bad : {int64_t{2}, int64_t{-3}, int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    for (const Node& n : std::vector<Node>{
             {"Gather", {x, i({0, bad})}},
             {"Gather", {x, i({bad})}, {{"axis", int64_t{1}}}},
             {"GatherElements", {x, i({1, 2}, {0, bad})}},
             {"GatherND", {x, i({1, 2}, {0, bad})}},
             {"ScatterElements", {x, i({1, 2}, {0, bad}), f({1, 2}, {5, 6})}},
             {"ScatterND", {x, i({1, 2}, {0, bad}), f({1}, {5})}},
         }) {
      INFO(n.type << ' ' << bad);
      CHECK_THAT(refusal(n), Catch::Contains("ind"));
    }
    // Out of range is defined here: nothing is hot, nothing is chosen.
    refusal({"OneHot", {i({bad}), i({2}).reshaped({}), f({2}, {0, 1})}});
    refusal({"NonMaxSuppression", {boxes, scores, i({bad}).reshaped({})}});
  }
  for (const Tensor& odd :
       {f({1, 2, 4}, {NAN, NAN, NAN, NAN, INFINITY, -INFINITY, 1e38F, -1e38F}), f({1, 0, 4}, {})})
    refusal({"NonMaxSuppression",
             {odd, f({1, 1, odd.shape()[1]}, {NAN, INFINITY}), i({9}).reshaped({})}});
}

TEST_CASE("TEN-4: numbers that are no numbers, and ties") {
  const Tensor odd = f({2, 5}, {NAN, INFINITY, -INFINITY, 1e-42F, -0.0F, 2, 2, 2, 2, 2});
  for (const Node& n : std::vector<Node>{{"TopK", {odd, i({5})}, {}, 2},
                                         {"ArgMax", {odd}, {{"axis", int64_t{1}}}},
                                         {"ArgMin", {odd}, {{"axis", int64_t{1}}}},
                                         {"ReduceMax", {odd}},
                                         {"Cast", {odd}, {{"to", int64_t{6}}}},
                                         {"Cast", {odd}, {{"to", int64_t{2}}}},
                                         {"Softmax", {odd}},
                                         {"Sign", {odd}},
                                         {"Round", {odd}},
                                         {"Relu", {odd}},
                                         {"Max", {odd, f(0)}},
                                         {"Clip", {odd, f(-1), f(1)}}}) {
    INFO(n.type);
    const auto once = run(model_of(n, true), n.in, "reference");
    for (const char* device : {"reference", "cpu"}) {
      const auto again = run(model_of(n, true), n.in, device);
      for (size_t k = 0; k < once.size(); ++k) {
        CAPTURE(device, once[k].to_floats(), again[k].to_floats());
        CHECK(difference(again[k], once[k]) < 1e-6);
      }
    }
  }
  CHECK(run(model_of({"TopK", {odd, i({3})}, {}, 2}, true), {odd, i({3})}, "cpu")[1].to_ints()[3] ==
        0);
  // What does not fit is named, with what was wanted.
  onnx::Model model = model_of({"Relu", {odd}}, true);
  auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (int64_t d : {2, 5}) type.mutable_shape()->add_dim()->set_dim_value(d);
  for (const Tensor& wrong : {f({2, 4}, std::vector<float>(8)), f({10}, std::vector<float>(10)),
                              i({2, 5}, ints(10)), f(0)}) {
    CHECK_THAT(error_of(Code::usage, [&] { run(model, {wrong}, "cpu"); }),
               Catch::Contains("input 'x0' is " + wrong.spec().str()) &&
                   Catch::Contains("float32[2, 5] is wanted"));
  }
  CHECK_THAT(error_of(Code::usage, [&] { run(model, {}, "cpu"); }),
             Catch::Contains("takes 1 inputs"));
}

}  // namespace hub
