// Programs of small integers: what the pass makes of them, and that the numbers stay right, on
// processors without VNNI too (tests/CMakeLists.txt runs these with AVX2 alone).
#include <catch2/catch.hpp>

#include "runtime/ops.h"
#include "runtime/passes/passes.h"
#include "runtime/session.h"
#include "tests/runtime/files.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"
#include "tests/scratch.h"

namespace hub {
namespace {

/// A program under construction, of numbers in steps of 1/16.
struct Net {
  Program p;
  DType type;
  explicit Net(DType type) : type(type) {}

  Var zero() {
    return constant(p, type == DType::u8 ? t<uint8_t>({}, {120}) : t<int8_t>({}, {-3}));
  }
  Var input(const Shape& shape) { return down({&p, p.add_input("x", {DType::f32, shape})}); }
  Var down(Var x, float scale = 0.0625F) {
    return apply("quantize", {x, constant(p, f(scale)), zero()}, Attrs{});
  }
  Var up(Var q, float scale = 0.0625F) {
    return apply("dequantize", {q, constant(p, f(scale)), zero()}, Attrs{});
  }
  Var weights(const Shape& shape, int64_t axis, int64_t channels) {
    Tensor w(DType::i8, shape);
    const Tensor some = noise(shape, 5);
    for (int64_t i = 0; i < w.numel(); ++i)
      w.data<int8_t>()[i] = static_cast<int8_t>(127 * some.data<float>()[i]);
    Tensor scale(DType::f32, {channels});
    for (int64_t i = 0; i < channels; ++i)
      scale.data<float>()[i] = 0.001F + 0.0001F * static_cast<float>(i);
    return apply("dequantize", {constant(p, w), constant(p, scale)}, {{"axis", axis}});
  }
  Var conv3(Var x, int64_t out, int64_t in) {
    return conv(up(x), weights({out, in, 3, 3}, 0, out), constant(p, noise({out}, 3)),
                {.pads = {1, 1, 1, 1}});
  }
};

std::string operators(const Program& p) {
  std::string s;
  for (const OpCall& call : p.ops) s += concat(s.empty() ? "" : " ", call.op->name);
  return s;
}

}  // namespace

TEST_CASE("calls between dequantize and quantize work on integers", "[quantized]") {
  struct Row {
    const char* name;
    Var (*make)(Net&);
    const char* after;
  };
  const Row rows[] = {
      {"conv",
       [](Net& n) {
         return n.up(n.down(n.conv3(n.input({1, 4, 6, 6}), 8, 4)));
       },
       "quantize quantized_conv dequantize"},
      {"conv, activation",
       [](Net& n) {
         const Var y = clip(n.conv3(n.input({1, 4, 6, 6}), 8, 4), 0, 6);
         return n.up(n.down(unary("hard_swish", y)));
       },
       "quantize quantized_conv dequantize"},
      {"conv, its result as floats",
       [](Net& n) {
         return unary("hard_sigmoid", n.conv3(n.input({1, 4, 6, 6}), 8, 4));
       },
       "quantize quantized_conv hard_sigmoid"},
      {"pool, concat",
       [](Net& n) {
         const Var x = n.input({1, 4, 6, 6});
         const Var y = n.down(pool(n.up(x), {.kernel = {2, 2}, .strides = {2, 2}}));
         const Var z = n.down(pool(n.up(x), {.kernel = {2, 2}, .strides = {2, 2}}));
         const Var both = n.down(apply("concat", {n.up(y), n.up(z)}, {{"axis", int64_t{1}}}));
         return n.up(n.down(n.conv3(both, 8, 8)));
       },
       "quantize pool pool concat quantized_conv dequantize"},
      {"residual",
       [](Net& n) {
         const Var x = n.input({1, 4, 6, 6});
         const Var y = n.down(n.conv3(x, 4, 4), 0.125F);
         return n.up(n.down(unary("relu", add(n.up(y, 0.125F), n.up(x)))));
       },
       "quantize quantized_conv quantized_add dequantize"},
      {"matmul, its bias",
       [](Net& n) {
         const Var y = matmul(n.up(n.input({3, 16})), n.weights({16, 5}, 1, 5));
         return n.up(n.down(add(y, constant(n.p, noise({5}, 9)))));
       },
       "quantize quantized_matmul dequantize"},
      {"two scales",
       [](Net& n) {
         const Var x = n.input({1, 4, 6, 6});
         return n.up(n.down(n.up(x), 0.5F), 0.5F);
       },
       "quantize dequantize quantize dequantize"},
      {"weights along the other axis",
       [](Net& n) {
         const Var x = n.up(n.input({3, 4}));
         return n.down(matmul(x, n.weights({4, 4}, 0, 4)));
       },
       "quantize dequantize dequantize matmul quantize"},
  };
  for (const Row& row : rows) {
    for (const DType type : {DType::u8, DType::i8}) {
      INFO(row.name << ' ' << name_of(type));
      Net n(type);
      n.p.outputs = {row.make(n).id};
      Program formed = n.p;
      form_quantized(formed);
      CHECK(operators(formed) == row.after);
      Shape shape = n.p[n.p.inputs[0]].declared.shape;
      Tensor x = noise(shape, 2);
      for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 6;
      const auto wanted = plain_run(n.p, {x});
      for (const char* device : {"reference", "cpu"}) {
        const auto got = Session(n.p, {.device = device, .pack_file = {}, .states = {}}).run({x});
        // One step where a number lies between two of them, and only there.
        const auto a = got[0].to_floats(), b = wanted[0].to_floats();
        REQUIRE(a.size() == b.size());
        size_t off = 0;
        const float step = got[0].dtype() == DType::f32 ? 0.0626F : 1.0F;
        for (size_t i = 0; i < a.size(); ++i) {
          CHECK(std::fabs(a[i] - b[i]) <= step);
          off += std::fabs(a[i] - b[i]) > 1e-4F ? 1 : 0;
        }
        CHECK(off <= a.size() / 50);
      }
    }
  }
}

TEST_CASE("sums of the largest integers are exact", "[quantized]") {
  struct Row {
    int x, w;
  };
  for (const Row row : {Row{255, 127}, Row{255, -128}, Row{255, 64}, Row{255, -64}, Row{0, 127}}) {
    for (const DType type : {DType::u8, DType::i8}) {
      for (const bool image : {true, false}) {
        Program p;
        const bool u8 = type == DType::u8;
        const Shape shape = image ? Shape{1, 64, 5, 5} : Shape{5, 64};
        Tensor full(type, shape), w(DType::i8, image ? Shape{16, 64, 1, 1} : Shape{64, 16});
        std::fill_n(full.data<uint8_t>(), full.numel(),
                    static_cast<uint8_t>(u8 ? row.x : row.x - 128));
        std::fill_n(w.data<int8_t>(), w.numel(), static_cast<int8_t>(row.w));
        const Var x{&p, p.add_input("x", full.spec())};
        const Var zero = constant(p, u8 ? t<uint8_t>({}, {0}) : t<int8_t>({}, {-128}));
        const Var a = apply("dequantize", {x, constant(p, f(1)), zero}, Attrs{});
        const Var b = apply("dequantize", {constant(p, w), constant(p, f(1))}, Attrs{});
        p.outputs = {image ? conv(a, b, {}, {}).id : matmul(a, b).id};
        const auto got = Session(p).run({full});
        INFO(row.x << " times " << row.w << ' ' << name_of(type) << " image " << image);
        const auto numbers = got[0].to_floats();
        for (float v : numbers) CHECK(v == static_cast<float>(64 * row.x * row.w));
      }
    }
  }
}

TEST_CASE("networks of onnxruntime's quantizer give its answers", "[quantized]") {
  const std::string folder = HUB_SOURCE_DIR "/tests/data/quantized";
  auto array = [&](std::string_view name) {
    return read_npy(MappedFile::open(concat(folder, "/", name, ".npy")));
  };
  for (const char* name :
       {"qdq_u8s8", "qdq_s8s8", "qoperator_u8s8", "qoperator_s8s8", "qoperator_u8u8"}) {
    const Program p = import_onnx(FolderFiles(folder), RelPath::parse(concat(name, ".onnx")));
    for (const char* device : {"reference", "cpu"}) {
      INFO(name << ' ' << device);
      const auto y =
          Session(p, {.device = device, .pack_file = {}, .states = {}}).run({array("x")});
      // One step of these outputs is between 0.12 and 0.26.
      const Tensor right = array(name);
      REQUIRE(y[0].spec() == right.spec());
      for (int64_t i = 0; i < right.numel(); ++i)
        CHECK(std::fabs(y[0].data<float>()[i] - right.data<float>()[i]) < 0.26F);
    }
  }
}

}  // namespace hub
