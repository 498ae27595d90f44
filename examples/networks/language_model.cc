// A character language model on a text file: a network, an objective and a data set of one's own,
// trained by the trainer of `hub finetune`.
//   language_model lstm|gru [FILE [EPOCHS]]
// Without a file it learns a small made-up language.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "finetune/finetune.h"
#include "modules/network.h"

using namespace hub;

namespace {

constexpr int64_t span = 64;  // characters a row
constexpr int64_t width = 64, hidden = 128;

std::mt19937 rng(1);

std::u32string made_up() {
  const char* who[] = {"the cat", "the dog", "a bird", "my aunt"};
  const char* does[] = {" sees ", " hears ", " likes ", " fears "};
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += std::string(who[rng() % 4]) + does[rng() % 4] + who[rng() % 4] + ". ";
  return decode_utf8(text);
}

NamedTensors random_weights(const std::string& cell, int64_t vocabulary) {
  const int64_t wide = (cell == "lstm" ? 4 : 3) * hidden;
  const std::pair<const char*, Shape> shapes[] = {
      {"embedding.weight", {vocabulary, width}}, {"layers.0.input", {wide, width}},
      {"layers.0.recurrent", {wide, hidden}},    {"layers.0.bias", {2 * wide}},
      {"output.weight", {vocabulary, hidden}},   {"output.bias", {vocabulary}}};
  NamedTensors weights;
  for (const auto& [name, shape] : shapes) {
    Tensor t(DType::f32, shape);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.data<float>()[i] = (static_cast<float>(rng() >> 8) * 0x1p-23F - 1) * 0.09F;
    weights.emplace(name, t);
  }
  return weights;
}

/// Rows of span + 1 characters, as indices into the vocabulary (Item::labels).
struct NextCharacter : Objective {
  Var loss(Program& p, const Vars& outputs) const override {
    const Var target{&p, p.add_input("target", {DType::i64, {-1, span}})};
    const Var log_p =
        apply("log_softmax", {transpose(outputs[0], {0, 2, 1})}, {{"axis", int64_t{1}}});
    return divided_sum(p, apply("nll_loss", {log_p, target}, {{"reduction", "none"}}));
  }
  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    weight = static_cast<double>(items.size()) * span;
    return {rows(items, 1)};
  }
  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    const int64_t n = outputs[0].shape()[2];
    const float* z = outputs[0].data<float>();
    std::vector<double> losses(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t s = 1; s <= span; ++s, z += n) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += std::exp(double{z[k]});
        losses[i] += std::log(sum) - z[items[i]->labels[s]];
      }
    }
    return losses;
  }
  std::unique_ptr<Measure> measure() const override;
  std::string metric(bool& lower) const override {
    lower = true;
    return "perplexity";
  }
  /// int64 [items, span], from each row's character number `from` on.
  static Tensor rows(std::span<const Item* const> items, int64_t from) {
    std::vector<int64_t> ids;
    for (const Item* item : items)
      ids.insert(ids.end(), item->labels.begin() + from, item->labels.begin() + from + span);
    return Tensor::ints(ids).reshaped({static_cast<int64_t>(items.size()), span});
  }
};

struct Perplexity : Measure {
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    for (const double loss : NextCharacter().badness(items, outputs)) mean.add(loss, span);
  }
  Metrics result() const override { return {{{"perplexity", mean.perplexity()}}, {}, {}, {}}; }
  MeanLoss mean;
};
std::unique_ptr<Measure> NextCharacter::measure() const { return std::make_unique<Perplexity>(); }

struct Lines : TrainListener {
  void evaluated(int64_t epoch, int64_t, double loss, const Metrics& m, bool) override {
    std::cout << "epoch " << epoch + 1 << " loss " << loss << " perplexity of other text "
              << m.at("perplexity") << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string cell = argc > 1 ? argv[1] : "lstm";
  const std::u32string text = argc > 2 ? decode_utf8(read_file(argv[2])) : made_up();
  const std::set<char32_t> known(text.begin(), text.end());
  const std::u32string letters(known.begin(), known.end());
  Dataset train, other;
  for (size_t at = 0; at + span < text.size(); at += span) {
    Item item;
    for (const char32_t c : text.substr(at, span + 1))
      item.labels.push_back(static_cast<int32_t>(letters.find(c)));
    (at < text.size() * 9 / 10 ? train : other).items.push_back(item);
  }
  const auto vocabulary = static_cast<int64_t>(letters.size());
  const NextCharacter objective;
  Lines lines;
  TrainJob job;
  job.network = build_network("rnn-lm", random_weights(cell, vocabulary),
                              {{"cell", cell},
                               {"vocab", vocabulary},
                               {"embedding", width},
                               {"hidden", hidden},
                               {"layers", 1}});
  job.objective = &objective;
  job.encode = [](std::span<const Item* const> items, uint64_t, bool) {
    return std::vector<Tensor>{NextCharacter::rows(items, 0)};
  };
  job.train = &train;
  job.validation = &other;
  job.options.epochs = argc > 3 ? std::stoi(argv[3]) : 4;
  job.options.rate = 5e-3;
  job.options.optimizer.clip_norm = 1;
  job.listener = &lines;
  const TrainResult result = hub::train(job);

  Session session(with_tensors(job.network, result.tuned));
  std::vector<int64_t> ids(span, static_cast<int64_t>(letters.find(text[0])));
  std::u32string said;
  for (int i = 0; i < 240; ++i) {  // the last characters give the next one, drawn by its chance
    const Tensor z = session.run({Tensor::ints(ids).reshaped({1, span})})[0];
    const float* last = z.data<float>() + (span - 1) * vocabulary;
    std::vector<double> chance(last, last + vocabulary);
    for (double& c : chance) c = std::exp(c / 0.7);
    ids.erase(ids.begin());
    ids.push_back(std::discrete_distribution<int64_t>(chance.begin(), chance.end())(rng));
    said += letters[static_cast<size_t>(ids.back())];
  }
  std::cout << encode_utf8(said) << '\n';
  const bool learned = result.metrics.at("perplexity") < static_cast<double>(vocabulary) / 3;
  return learned ? 0 : 1;
}
