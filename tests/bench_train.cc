// Times whole training steps (forward, backward, update) of a network with made-up weights:
// bench_train NETWORK BATCH STEPS THREADS [profile]. Prints one JSON line. A program for
// scripts/bench, not a test.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "modules/network.h"
#include "runtime/runtime.h"
#include "runtime/train.h"

namespace hub {
namespace {

using json = nlohmann::json;

/// Weights of a network, by the names that its definition asks for.
class Made {
 public:
  NamedTensors tensors;

  void weight(const std::string& name, const Shape& shape, float deviation) {
    Tensor t(DType::f32, shape);
    // Sums of four uniform numbers are near enough to normal ones.
    for (int64_t i = 0; i < t.numel(); ++i) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) {
        seed_ = seed_ * 1664525 + 1013904223;
        sum += static_cast<float>(static_cast<int32_t>(seed_)) * 0x1p-31F;
      }
      t.data<float>()[i] = sum * deviation * 0.866F;
    }
    tensors.emplace(name, t);
  }
  void all(const std::string& name, int64_t count, float value) {
    Tensor t(DType::f32, {count});
    std::fill_n(t.data<float>(), count, value);
    tensors.emplace(name, t);
  }
  void conv_norm(const std::string& conv, const std::string& norm, int64_t in, int64_t out,
                 int64_t kernel, bool depthwise = false) {
    const int64_t inputs = depthwise ? 1 : in;
    weight(conv + ".weight", {out, inputs, kernel, kernel},
           std::sqrt(2.0F / static_cast<float>(inputs * kernel * kernel)));
    all(norm + ".weight", out, 1);
    all(norm + ".bias", out, 0);
    all(norm + ".running_mean", out, 0);
    all(norm + ".running_var", out, 1);
  }
  void dense(const std::string& name, int64_t in, int64_t out, float deviation) {
    weight(name + ".weight", {out, in}, deviation);
    all(name + ".bias", out, 0);
  }

 private:
  uint32_t seed_ = 1;
};

std::string text(const std::string& a, int64_t i, const char* b) {
  return a + std::to_string(i) + b;
}

Program resnet50(int64_t classes) {
  Made m;
  m.conv_norm("conv1", "bn1", 3, 64, 7);
  const int64_t blocks[] = {3, 4, 6, 3};
  int64_t in = 64;
  for (int64_t s = 0; s < 4; ++s) {
    const int64_t width = 64 << s;
    for (int64_t b = 0; b < blocks[s]; ++b) {
      const std::string name = text(text("layer", s + 1, "."), b, ".");
      m.conv_norm(name + "conv1", name + "bn1", in, width, 1);
      m.conv_norm(name + "conv2", name + "bn2", width, width, 3);
      m.conv_norm(name + "conv3", name + "bn3", width, 4 * width, 1);
      if (b == 0) m.conv_norm(name + "downsample.0", name + "downsample.1", in, 4 * width, 1);
      in = 4 * width;
    }
  }
  m.dense("fc", in, classes, 0.02F);
  return build_network("resnet", m.tensors,
                       {{"layers", {3U, 4U, 6U, 3U}}, {"block", "bottleneck"}});
}

/// Stages of inverted bottlenecks: repeats, widening, channels, kernel.
struct Stage {
  int64_t repeats, expand, channels, kernel;
};

Program mobilenet_v2(int64_t classes) {
  Made m;
  m.conv_norm("features.0.0", "features.0.1", 3, 32, 3);
  int64_t in = 32, number = 1;
  for (const Stage& s : {Stage{1, 1, 16, 3},
                         {2, 6, 24, 3},
                         {3, 6, 32, 3},
                         {4, 6, 64, 3},
                         {3, 6, 96, 3},
                         {3, 6, 160, 3},
                         {1, 6, 320, 3}}) {
    for (int64_t i = 0; i < s.repeats; ++i, ++number) {
      const std::string name = text("features.", number, ".conv.");
      const int64_t wide = in * s.expand;
      int64_t part = 0;
      if (s.expand != 1) {
        m.conv_norm(name + "0.0", name + "0.1", in, wide, 1);
        part = 1;
      }
      m.conv_norm(text(name, part, ".0"), text(name, part, ".1"), wide, wide, 3, true);
      m.conv_norm(text(name, part + 1, ""), text(name, part + 2, ""), wide, s.channels, 1);
      in = s.channels;
    }
  }
  m.conv_norm(text("features.", number, ".0"), text("features.", number, ".1"), in, 1280, 1);
  m.dense("classifier.1", 1280, classes, 0.02F);
  return build_network("mobilenet-v2", m.tensors, json::object());
}

Program efficientnet(int64_t classes) {
  Made m;
  m.conv_norm("_conv_stem", "_bn0", 3, 32, 3);
  int64_t in = 32, number = 0;
  for (const Stage& s : {Stage{1, 1, 16, 3},
                         {2, 6, 24, 3},
                         {2, 6, 40, 5},
                         {3, 6, 80, 3},
                         {3, 6, 112, 5},
                         {4, 6, 192, 5},
                         {1, 6, 320, 3}}) {
    for (int64_t i = 0; i < s.repeats; ++i, ++number) {
      const std::string name = text("_blocks.", number, ".");
      const int64_t wide = in * s.expand;
      if (s.expand != 1) m.conv_norm(name + "_expand_conv", name + "_bn0", in, wide, 1);
      m.conv_norm(name + "_depthwise_conv", name + "_bn1", wide, wide, s.kernel, true);
      m.conv_norm(name + "_project_conv", name + "_bn2", wide, s.channels, 1);
      in = s.channels;
    }
  }
  m.conv_norm("_conv_head", "_bn1", in, 1280, 1);
  m.dense("_fc", 1280, classes, 0.02F);
  return build_network("efficientnet-lite", m.tensors, {{"variant", "lite0"}});
}

/// With the mean of the tokens and a classifier behind it.
Program bert(int64_t hidden, int64_t layers, int64_t heads, int64_t classes) {
  Made m;
  const auto norm = [&](const std::string& name) {
    m.all(name + ".weight", hidden, 1);
    m.all(name + ".bias", hidden, 0);
  };
  m.weight("embeddings.word_embeddings.weight", {30522, hidden}, 0.02F);
  m.weight("embeddings.position_embeddings.weight", {512, hidden}, 0.02F);
  m.weight("embeddings.token_type_embeddings.weight", {2, hidden}, 0.02F);
  norm("embeddings.LayerNorm");
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = text("encoder.layer.", i, ".");
    for (const char* part : {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense"})
      m.dense(name + part, hidden, hidden, 0.02F);
    norm(name + "attention.output.LayerNorm");
    m.dense(name + "intermediate.dense", hidden, 4 * hidden, 0.02F);
    m.dense(name + "output.dense", 4 * hidden, hidden, 0.02F);
    norm(name + "output.LayerNorm");
  }
  m.dense("classifier", hidden, classes, 0.02F);
  Program p = build_network("bert", m.tensors,
                            {{"hidden_size", hidden},
                             {"num_hidden_layers", layers},
                             {"num_attention_heads", heads},
                             {"intermediate_size", 4 * hidden},
                             {"layer_norm_eps", 1e-12},
                             {"hidden_act", "gelu"}});
  const Var tokens{&p, p.outputs[0]};
  const Var pooled =
      apply("reduce_mean", {tokens, constant(p, Tensor::ints({1}))}, {{"keepdims", int64_t{0}}});
  const auto part = [&](const char* name) { return constant(p, m.tensors.at(name), name); };
  p.outputs = {matmul(pooled, part("classifier.weight"), part("classifier.bias"), false, true).id};
  return p;
}

Tensor zeros(const Spec& spec) {
  Tensor t(spec.dtype, spec.shape);
  std::memset(t.raw(), 0, t.bytes());
  return t;
}

/// A step: inputs of the network and labels in, the loss out, parameters and what the optimizer
/// remembers as states. SGD with momentum, or AdamW with `adam`.
Program step_of(Program p, bool adam, NamedTensors& states) {
  const Var logits{&p, p.outputs[0]};
  const auto fresh = make_trainable(
      p, [](std::string_view) { return true; }, true);
  states = *fresh;
  const Var labels{&p, p.add_input("labels", {DType::i64, {-1}})};
  const Var scores = apply("log_softmax", {logits}, {{"axis", int64_t{-1}}});
  const Var loss = apply("nll_loss", {scores, labels});
  Vars parameters;
  std::vector<size_t> places;
  for (size_t i = 0; i < p.states.size(); ++i) {
    if (p.states[i].next != absent) continue;  // a running mean or variance
    parameters.push_back({&p, p.states[i].value});
    places.push_back(i);
  }
  const Vars gradients = append_backward(p, loss, parameters);
  const Var rate = constant(p, Tensor::scalar(adam ? 2e-5F : 0.01F));
  const Var scale = constant(p, Tensor::scalar(1.0F));
  const auto slot = [&](const std::string& name, const Spec& spec) {
    states.emplace(name, zeros(spec));
    return Var{&p, p.add_state(name, spec)};
  };
  Var count;
  if (adam) {
    const Var before = slot("step", {DType::i64, {1}});
    const size_t at = p.states.size() - 1;
    count = add(before, constant(p, Tensor::ints({1})));
    p.states[at].next = count.id;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i]) continue;
    const Value& v = p[parameters[i].id];
    const std::string name = v.name;
    const Spec spec = v.declared;
    Vars in{parameters[i], gradients[i], rate, scale, slot(name + "@m", spec)};
    const size_t first = p.states.size() - 1;
    if (adam) {
      in.push_back(slot(name + "@v", spec));
      in.push_back(count);
    }
    const Vars out =
        adam ? apply(*find_op("adam"), in, {{"decoupled", int64_t{1}}, {"weight_decay", 0.01}}, 3)
             : apply(*find_op("momentum"), in, {{"momentum", 0.9}}, 2);
    p.states[places[i]].next = out[0].id;
    for (size_t k = 1; k < out.size(); ++k) p.states[first + k - 1].next = out[k].id;
  }
  p.outputs = {loss.id};
  return p;
}

int run(const std::string& name, int64_t batch, int steps, int count, bool profile) {
  set_threads(count);
  const bool language = name == "minilm" || name == "bert-base";
  Program network = name == "resnet50"             ? resnet50(10)
                    : name == "mobilenet-v2"       ? mobilenet_v2(10)
                    : name == "efficientnet-lite0" ? efficientnet(10)
                    : name == "minilm"             ? bert(384, 6, 12, 2)
                                                   : bert(768, 12, 12, 2);
  const auto states = std::make_shared<NamedTensors>();
  std::vector<Tensor> inputs;
  if (language) {
    Tensor ids(DType::i64, {batch, 64});
    Tensor mask(DType::i64, {batch, 64});
    for (int64_t i = 0; i < ids.numel(); ++i) {
      ids.data<int64_t>()[i] = (i * 7919 + 1000) % 30000;
      mask.data<int64_t>()[i] = 1;
    }
    inputs = {ids, mask};
  } else {
    Made m;
    m.weight("image", {batch, 3, 224, 224}, 1);
    inputs = {m.tensors.at("image")};
  }
  Tensor labels(DType::i64, {batch});
  for (int64_t i = 0; i < batch; ++i) labels.data<int64_t>()[i] = language ? i % 2 : i % 10;
  inputs.push_back(labels);
  Session session(step_of(std::move(network), language, *states), {.states = states});
  std::vector<double> times;
  std::vector<float> losses;
  for (int s = 0; s < steps + 2; ++s) {
    const auto start = std::chrono::steady_clock::now();
    losses.push_back(session.run(inputs)[0].data<float>()[0]);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (s >= 2) times.push_back(time.count());
  }
  if (profile) {
    for (const StepTime& step : session.profile(inputs, 2).steps) {
      std::fprintf(stderr, "%9.4f ms %9.4f GFLOP  %s %s  %s\n", step.ms, step.flops / 1e9,
                   step.op.c_str(), step.shape.str().c_str(), step.how.c_str());
    }
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto memory = session.memory();
  const json line = {{"ms", times},
                     {"rss_mb", static_cast<double>(use.ru_maxrss) / 1024},
                     {"arena_mb", static_cast<double>(memory.arena) / 1048576},
                     {"live_mb", static_cast<double>(memory.live) / 1048576},
                     {"losses", losses}};
  std::puts(line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace hub

int main(int argc, char** argv) {
  const std::set<std::string> names = {"resnet50", "mobilenet-v2", "efficientnet-lite0", "minilm",
                                       "bert-base"};
  if (argc < 5 || !names.contains(argv[1])) {
    std::fputs("usage: bench_train NETWORK BATCH STEPS THREADS [profile]\n", stderr);
    return 2;
  }
  try {
    return hub::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argc > 5);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_train: %s\n", e.what());
    return 1;
  }
}
