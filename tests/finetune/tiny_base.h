// A sentence-embedding module made in a folder: BERT of two layers, 16 wide, over words "a0" …
// "e9",
// "?" and "."; random numbers. And what a test does with the module that was made of it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/digest.h"
#include "finetune/finetune.h"
#include "tests/scratch.h"

namespace hub {

class TinyBase {
 public:
  explicit TinyBase(int64_t max_length = 32) {
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n?\n.\n";
    for (const char c : std::string("abcde")) {
      for (int i = 0; i < 10; ++i) vocabulary += c + std::to_string(i) + "\n";
    }
    json manifest = {{"schema", 1},
                     {"name", "tiny"},
                     {"version", "1.0.0"},
                     {"task", "sentence-embedding"},
                     {"files", json::array()},
                     {"networks",
                      {{"main",
                        {{"format", "safetensors"},
                         {"file", "model.safetensors"},
                         {"architecture", "bert"},
                         {"config", "config.json"}}}}},
                     {"preprocess",
                      {{"tokenizer", "wordpiece"},
                       {"vocab", "vocab.txt"},
                       {"lowercase", true},
                       {"max_length", max_length}}},
                     {"postprocess", {{"pooling", "mean"}, {"normalize", true}}}};
    const json config = {{"hidden_size", 16},        {"num_hidden_layers", 2},
                         {"num_attention_heads", 2}, {"intermediate_size", 32},
                         {"layer_norm_eps", 1e-5},   {"hidden_act", "gelu"}};
    std::string weights;
    write_safetensors(tensors(max_length), [&](std::string_view bytes) { weights += bytes; });
    const std::pair<const char*, std::string> files[] = {
        {"vocab.txt", vocabulary}, {"config.json", config.dump()}, {"model.safetensors", weights}};
    for (const auto& [name, bytes] : files) {
      folder_.put(name, bytes);
      manifest["files"].push_back(
          {{"path", name}, {"sha256", Sha256::of(bytes).hex()}, {"size", bytes.size()}});
    }
    installed_.emplace(at(folder_.path(), Manifest::parse(manifest.dump())));
  }

  const Installed& installed() const { return *installed_; }

  /// What the tuner leaves, opened as a module of its own.
  std::unique_ptr<Module> saved(Tuner& tuner, const std::string& folder, Progress& progress) const {
    const Manifest manifest = tuner.write(folder);
    for (const FileEntry& file : manifest.files) {
      const std::string to = folder + "/" + file.path.str();
      if (!exists(to)) std::filesystem::copy(folder_ / file.path.str(), to);
    }
    return Module::open(at(folder, manifest), progress);
  }

 private:
  static Installed at(const std::string& folder, Manifest manifest) {
    return {.manifest = std::move(manifest),
            .files = std::make_shared<FolderFiles>(folder),
            .plans = {},
            .installed_at = {},
            .last_used = {}};
  }

  static NamedTensors tensors(int64_t positions) {
    NamedTensors all;
    uint64_t state = 1;
    const auto declare = [&](const std::string& name, const Shape& shape, float mean,
                             float spread) {
      Tensor t(DType::f32, shape);
      for (float& x : std::span(t.data<float>(), static_cast<size_t>(t.numel()))) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        x = mean + spread * (static_cast<float>(state >> 40) / 8388608.0F - 1);
      }
      all.emplace(name, t);
    };
    const auto dense = [&](const std::string& name, int64_t out, int64_t in) {
      declare(name + ".weight", {out, in}, 0, 0.4F);
      declare(name + ".bias", {out}, 0, 0.1F);
    };
    const auto norm = [&](const std::string& name) {
      declare(name + ".weight", {16}, 1, 0.1F);
      declare(name + ".bias", {16}, 0, 0.1F);
    };
    declare("embeddings.word_embeddings.weight", {56, 16}, 0, 1);
    declare("embeddings.position_embeddings.weight", {positions, 16}, 0, 0.2F);
    declare("embeddings.token_type_embeddings.weight", {2, 16}, 0, 0.1F);
    norm("embeddings.LayerNorm");
    for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
      for (const char* name : {"query", "key", "value"})
        dense(layer + "attention.self." + name, 16, 16);
      dense(layer + "attention.output.dense", 16, 16);
      norm(layer + "attention.output.LayerNorm");
      dense(layer + "intermediate.dense", 32, 16);
      dense(layer + "output.dense", 16, 32);
      norm(layer + "output.LayerNorm");
    }
    return all;
  }

  Scratch folder_;
  std::optional<Installed> installed_;
};

/// Keeps the loss of every epoch.
struct Losses : TrainListener {
  std::vector<double> losses;
  void evaluated(int64_t, int64_t, double loss, const Metrics&, bool) override {
    losses.push_back(loss);
  }
};

/// Small numbers for tiny data.
inline TrainOptions tiny_options() {
  TrainOptions o;
  o.epochs = 6;
  o.batch = 16;
  o.rate = 1e-2;
  return o;
}

/// The first rows for training, the others for validation.
inline Splits split_at(std::vector<Item> items, size_t count, std::vector<std::string> classes,
                       std::string_view task) {
  Splits s;
  s.task = task;
  s.train.classes = s.validation.classes = s.test.classes = std::move(classes);
  for (size_t i = 0; i < items.size(); ++i)
    (i < count ? s.train : s.validation).items.push_back(std::move(items[i]));
  s.train.digest = s.validation.digest = "made";
  return s;
}

}  // namespace hub
