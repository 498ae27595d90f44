// Network definitions against torchvision's: small instances whose weights follow from their names,
// so that only the names, the shapes and torch's logits are kept (tests/data/networks).
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "modules/network.h"
#include "tests/error_of.h"

namespace hub {
namespace {

const std::string folder = std::string(HUB_SOURCE_DIR) + "/tests/data/networks/";

/// Numbers in [-1, 1) that depend on the name alone: splitmix64 behind FNV-1a.
Tensor noise(const std::string& name, const Shape& shape) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  Tensor out(DType::f32, shape);
  for (int64_t i = 0; i < out.numel(); ++i) {
    uint64_t z = hash += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    out.data<float>()[i] = static_cast<float>(static_cast<double>(z >> 40) / (1 << 23) - 1);
  }
  return out;
}

Tensor weight(const std::string& name, const Shape& shape) {
  Tensor out = noise(name, shape);
  const auto map = [&](float base, float scale) {
    for (int64_t i = 0; i < out.numel(); ++i)
      out.data<float>()[i] = base + scale * out.data<float>()[i];
  };
  if (name.ends_with("running_var")) {
    map(1, 0.3F);
  } else if (shape.rank() > 1) {
    map(0, static_cast<float>(std::sqrt(6.0 * static_cast<double>(shape[0]) /
                                        static_cast<double>(shape.numel()))));
  } else {
    map(name.ends_with("weight") ? 1 : 0, name.ends_with("weight") ? 0.2F : 0.1F);
  }
  return out;
}

/// From lines "name dimension…"; "name.* channels" is a batch norm.
NamedTensors weights_of(const std::string& list) {
  NamedTensors out;
  std::istringstream lines(read_file(folder + list + ".txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Shape shape;
    for (int64_t d = 0; words >> d;) shape.push_back(d);
    if (!name.ends_with(".*")) {
      out[name] = weight(name, shape);
      continue;
    }
    name.pop_back();
    for (const char* part : {"weight", "bias", "running_mean", "running_var"})
      out[name + part] = weight(name + part, shape);
  }
  return out;
}

struct Case {
  std::string list, architecture, options;
};
const Case cases[] = {
    {"mobilenet_v2", "mobilenet-v2", "{}"},
    {"resnet_basic", "resnet", R"({"layers": [1, 2, 1, 1], "block": "basic"})"},
    {"resnet_bottleneck", "resnet", R"({"layers": [2, 1, 1, 1], "block": "bottleneck"})"}};

}  // namespace

TEST_CASE("a network with torchvision's tensors gives torchvision's logits") {
  for (const Case& c : cases) {
    for (const char* device : {"reference", "cpu"}) {
      INFO(c.list << " on " << device);
      Program program = build_network(c.architecture, weights_of(c.list), json::parse(c.options));
      Session session(std::move(program), {.device = device, .pack_file = {}});
      const Tensor got = session.run({noise("image", {2, 3, 48, 40})}).at(0);
      const Tensor wanted = read_npy(MappedFile::open(folder + c.list + "_logits.npy"));
      REQUIRE(got.shape() == wanted.shape());
      double worst = 0;
      for (int64_t i = 0; i < got.numel(); ++i) {
        worst = std::max(
            worst, std::fabs(static_cast<double>(got.data<float>()[i]) - wanted.data<float>()[i]));
      }
      CHECK(worst < 5e-5);
    }
  }
}

TEST_CASE("a checkpoint or options that do not fit a network are refused by name") {
  const auto refused = [](const Case& c, const NamedTensors& tensors, const std::string& options) {
    return error_of(Code::refused,
                    [&] { build_network(c.architecture, tensors, json::parse(options)); });
  };
  NamedTensors lacking = weights_of("mobilenet_v2");
  lacking.erase("features.3.conv.1.1.bias");
  CHECK_THAT(refused(cases[0], lacking, "{}"), Catch::Contains("features.3.conv.1.1.bias"));
  NamedTensors odd = weights_of("resnet_basic");
  odd["layer2.1.conv2.weight"] = noise("odd", {7, 8, 3, 3});
  CHECK_THAT(refused(cases[1], odd, cases[1].options), Catch::Contains("layer2.1"));
  const NamedTensors right = weights_of("resnet_basic");
  for (const char* options :
       {R"({"block": "basic"})", R"({"layers": [0], "block": "basic"})",
        R"({"layers": [1.5], "block": "basic"})", R"({"layers": ["1"], "block": "basic"})"}) {
    CHECK_THAT(refused(cases[1], right, options), Catch::Contains("layers"));
  }
  CHECK_THAT(refused(cases[1], right, R"({"layers": [1], "block": "odd"})"),
             Catch::Contains("bottleneck"));
}

}  // namespace hub
