// The three networks of MTCNN (Zhang et al. 2016, arXiv:1604.02878), as facenet-pytorch has them;
// tensors as there. Option "stage": "propose" [N, 3, H, W], for squares of 12 pixels two apart,
// "refine" [N, 3, 24, 24] or "output" [N, 3, 48, 48]. Outputs: the share of no face and of a face,
// how the four sides of the box move, and of "output" the places of five points.
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

class Builder {
 public:
  Builder(const NamedTensors& tensors, const json& config)
      : weights_(tensors, program_), fields_(config, "options of mtcnn") {}

  Program build() {
    program_.name = "mtcnn";
    const std::string stage = fields_.choice("stage", {"propose", "refine", "output"});
    fields_.done();
    if (stage == "propose") {
      propose();
    } else if (stage == "refine") {
      refine();
    } else {
      output();
    }
    return std::move(program_);
  }

 private:
  Var picture(int64_t side) {
    return {&program_, program_.add_input("image", {DType::f32, {-1, 3, side, side}})};
  }

  Var convolution(Var x, const std::string& name, const Shape& shape) {
    const Var weight = weights_.take(name + ".weight", shape);
    return conv(x, weight, weights_.take(name + ".bias", {shape[0]}), {});
  }

  Var linear(Var x, const std::string& name, int64_t out, int64_t in) {
    const Var weight = weights_.take(name + ".weight", {out, in});
    return matmul(x, weight, weights_.take(name + ".bias", {out}), false, true);
  }

  Var prelu(Var x, int number, int64_t channels) {
    return apply("prelu", {x, weights_.take(concat("prelu", number, ".weight"), {channels})},
                 {{"channel", int64_t{1}}});
  }

  /// The number-th convolution, of square windows, and what follows it.
  Var layer(Var x, int number, int64_t out, int64_t in, int64_t window) {
    return prelu(convolution(x, concat("conv", number), {out, in, window, window}), number, out);
  }

  Var shrunk(Var x, int64_t window) {
    const std::vector<int64_t> kernel = {window, window}, strides = {2, 2};
    return apply(
        "pool", {x},
        {{"kind", "max"}, {"kernel", kernel}, {"strides", strides}, {"ceil_mode", int64_t{1}}});
  }

  /// One row of numbers a picture, columns before rows and both before channels.
  Var flat(Var x) { return reshape(transpose(x, {0, 3, 2, 1}), {0, -1}); }

  void give(std::initializer_list<std::pair<const char*, Var>> outputs) {
    for (const auto& [name, var] : outputs) {
      program_.rename(var.id, name);
      program_.outputs.push_back(var.id);
    }
  }

  void propose() {
    Var x = shrunk(layer(picture(-1), 1, 10, 3, 3), 2);
    x = layer(layer(x, 2, 16, 10, 3), 3, 32, 16, 3);
    give({{"score", softmax(convolution(x, "conv4_1", {2, 32, 1, 1}), 1)},
          {"box", convolution(x, "conv4_2", {4, 32, 1, 1})}});
  }

  void refine() {
    Var x = shrunk(layer(picture(24), 1, 28, 3, 3), 3);
    x = shrunk(layer(x, 2, 48, 28, 3), 3);
    x = prelu(linear(flat(layer(x, 3, 64, 48, 2)), "dense4", 128, 576), 4, 128);
    give({{"score", softmax(linear(x, "dense5_1", 2, 128), 1)},
          {"box", linear(x, "dense5_2", 4, 128)}});
  }

  void output() {
    Var x = shrunk(layer(picture(48), 1, 32, 3, 3), 3);
    x = shrunk(layer(x, 2, 64, 32, 3), 3);
    x = shrunk(layer(x, 3, 64, 64, 3), 2);
    x = prelu(linear(flat(layer(x, 4, 128, 64, 2)), "dense5", 256, 1152), 5, 256);
    give({{"score", softmax(linear(x, "dense6_1", 2, 256), 1)},
          {"box", linear(x, "dense6_2", 4, 256)},
          {"points", linear(x, "dense6_3", 10, 256)}});
  }

  Program program_;
  Weights weights_;
  Fields fields_;
};

}  // namespace

Program build_mtcnn(const NamedTensors& tensors, const json& config) {
  return Builder(tensors, config).build();
}

}  // namespace hub
