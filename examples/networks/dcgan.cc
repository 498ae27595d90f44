// Two networks against each other (DCGAN; Radford, Metz and Chintala, 2015) on pictures of 28 x 28:
// training steps written by hand as two programs over the same parameters.
//   dcgan [FOLDER [STEPS [PICTURE.png]]]
// FOLDER holds Fashion-MNIST's files; without it the pictures are bright squares.
#include <cmath>
#include <iostream>
#include <random>

#include "base/file.h"
#include "finetune/finetune.h"
#include "modules/image.h"

using namespace hub;

namespace {

constexpr int64_t seeds = 64, side = 28, pixels = side * side;

std::mt19937 rng(1);

Tensor normal(const Shape& shape, float spread = 1, float mean = 0) {
  std::normal_distribution<float> draw;
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = mean + spread * draw(rng);
  return t;
}

/// Pictures [N, pixels] in [-1, 1]: those of the folder, or bright squares.
Tensor real_pictures(const std::string& folder) {
  std::vector<Item> items(256);
  if (!folder.empty()) items = read_data(folder, {}).train.items;
  Tensor all(DType::f32, {static_cast<int64_t>(items.size()), pixels});
  float* to = all.data<float>();
  for (Item& item : items) {
    const int64_t size = 10 + rng() % 6, left = 4 + rng() % 6, top = 4 + rng() % 6;
    item.gray.resize(pixels);
    for (int64_t y = top; folder.empty() && y < top + size; ++y)
      std::fill_n(item.gray.begin() + y * side + left, size, uint8_t{230});
    for (const uint8_t v : item.gray) *to++ = static_cast<float>(v) / 127.5F - 1;
  }
  return all;
}

/// A parameter of one of the networks; the same one for every call with its name.
Var weight(Program& p, const std::string& name, const Shape& shape, float spread, float mean = 0) {
  if (const ValueId id = p.find(name); id != absent) return {&p, id};
  return constant(p, normal(shape, spread, mean), name);
}

Var norm(Var x, const std::string& name, int64_t channels) {
  const auto w = [&](const char* part, float v) {
    return weight(*x.program, name + part, {channels}, 0, v);
  };
  return batch_norm(x, w(".scale", 1), w(".bias", 0), w(".mean", 0), w(".variance", 1), 1e-5);
}

Var wider(Var x, const std::string& name, int64_t in, int64_t out) {
  const std::vector<int64_t> strides{2, 2}, pads{1, 1, 1, 1};
  return apply("conv_transpose", {x, weight(*x.program, name, {in, out, 4, 4}, 0.03F)},
               {{"strides", strides}, {"pads", pads}});
}

/// Noise [B, seeds] -> pictures [B, pixels] in [-1, 1].
Var generator(Var z) {
  Program& p = *z.program;
  Var x = reshape(matmul(z, weight(p, "g.in", {seeds, 64 * 49}, 0.03F)), {-1, 64, 7, 7});
  x = unary("relu", norm(x, "g.norm0", 64));
  x = unary("relu", norm(wider(x, "g.up1", 64, 32), "g.norm1", 32));
  return reshape(unary("tanh", wider(x, "g.up2", 32, 1)), {-1, pixels});
}

/// Pictures -> [B, 1]: above 0, it takes the picture for a real one.
Var critic(Var x) {
  Program& p = *x.program;
  const auto narrower = [&](Var from, const std::string& name, int64_t in, int64_t out) {
    const Var y = conv(from, weight(p, name, {out, in, 4, 4}, 0.05F),
                       weight(p, name + ".bias", {out}, 0), {{2, 2}, {1, 1, 1, 1}, {}, 1, ""});
    return apply("leaky_relu", {y}, {{"alpha", 0.2}});
  };
  x = narrower(reshape(x, {-1, 1, side, side}), "c.down1", 1, 32);
  x = narrower(x, "c.down2", 32, 64);
  return matmul(reshape(x, {-1, 64 * 49}), weight(p, "c.out", {64 * 49, 1}, 0.02F));
}

Var mean(Var x) { return apply("reduce_mean", {x}, {{"keepdims", int64_t{0}}}); }
Var taken_for_real(Var score) { return mean(unary("softplus", unary("neg", score))); }

bool everything(std::string_view) { return true; }

/// One step of the network whose parameters begin with `prefix`.
Session step_of(const std::string& prefix, const std::shared_ptr<NamedTensors>& states) {
  Program p;
  const Var z{&p, p.add_input("z", {DType::f32, {-1, seeds}})};
  const Var made = critic(generator(z));
  Var loss = taken_for_real(made);
  if (prefix == "c.") {
    const ValueId real = p.add_input("real", {DType::f32, {-1, pixels}});
    loss = add(taken_for_real(critic({&p, real})), mean(unary("softplus", made)));
  }
  const auto fresh = make_trainable(p, everything, true);
  for (const auto& [name, t] : *fresh) states->try_emplace(name, t);
  const auto own = [&](std::string_view name) { return name.starts_with(prefix); };
  append_step(p, loss, *states, {.kind = "adam", .weight_decay = 0, .beta1 = 0.5}, own,
              [](std::string_view) { return 1.0; });
  p.outputs = {loss.id};
  return Session(std::move(p), {.device = "cpu", .pack_file = {}, .states = states});
}

Tensor generated(const NamedTensors& states, const Tensor& z) {
  Program p;
  const Var out = generator({&p, p.add_input("z", {DType::f32, {-1, seeds}})});
  p.outputs = {out.id};
  make_trainable(p, everything, true);
  freeze_states(p, states);
  return Session(std::move(p)).run({z})[0];
}

/// How far the mean pictures of both are apart.
double distance(const Tensor& a, const Tensor& b) {
  double middle[pixels] = {}, sum = 0;
  for (int64_t i = 0; i < a.numel(); ++i) middle[i % pixels] += a.data<float>()[i] / a.shape()[0];
  for (int64_t i = 0; i < b.numel(); ++i) middle[i % pixels] -= b.data<float>()[i] / b.shape()[0];
  for (const double m : middle) sum += std::fabs(m) / pixels;
  return sum;
}

Image sheet(const Tensor& made) {  // 64 pictures, eight a row
  Image image{.width = 8 * side, .height = 8 * side, .channels = 3, .pixels = {}};
  for (int64_t k = 0; k < 64 * pixels; ++k) {
    const int64_t x = k % (8 * side), y = k / (8 * side);
    const int64_t at = ((y / side * 8 + x / side) * side + y % side) * side + x % side;
    const float v = (made.data<float>()[at] + 1) * 127.4F;
    image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(v));
  }
  return image;
}

}  // namespace

int main(int argc, char** argv) {
  const Tensor real = real_pictures(argc > 1 ? argv[1] : "");
  const auto states = std::make_shared<NamedTensors>();
  Session critic_step = step_of("c.", states), generator_step = step_of("g.", states);
  const int64_t batch = argc > 1 ? 32 : 8;
  const Tensor fixed = normal({64, seeds}), rate = Tensor::scalar(argc > 1 ? 2e-4F : 1e-3F);
  const double before = distance(generated(*states, fixed), real);
  const int steps = argc > 2 ? std::stoi(argv[2]) : 60;
  for (int64_t i = 1; i <= steps; ++i) {
    Tensor some(DType::f32, {batch, pixels});
    for (int64_t b = 0; b < batch; ++b)
      std::copy_n(real.data<float>() + rng() % real.shape()[0] * pixels, pixels,
                  some.data<float>() + b * pixels);
    const Tensor number = Tensor::ints({i}).reshaped({});
    const Tensor c = critic_step.run({normal({batch, seeds}), some, rate, number})[0];
    const Tensor g = generator_step.run({normal({batch, seeds}), rate, number})[0];
    if (i % 20 == 0)
      std::cout << "step " << i << " critic " << c.data<float>()[0] << " generator "
                << g.data<float>()[0] << std::endl;
  }
  const Tensor made = generated(*states, fixed);
  if (argc > 3) write_file(argv[3], encode_png(sheet(made)));
  const double after = distance(made, real);
  std::cout << "mean pictures apart by " << before << " before, " << after << " after\n";
  return after < before / 2 ? 0 : 1;
}
