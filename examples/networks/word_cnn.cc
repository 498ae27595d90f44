// Texts into classes by a convolution over words (Kim, 2014), from nothing: own vocabulary, own
// network, the trainer of `hub finetune`.
//   word_cnn [DATA [EPOCHS]]
// DATA is what `hub data check` reads; without it made-up sentences are told apart.
#include <iostream>
#include <random>

#include "base/text.h"
#include "finetune/finetune.h"

using namespace hub;

namespace {

constexpr int64_t length = 32, width = 64, filters = 64;  // words a text, numbers a word

std::mt19937 rng(1);

/// "not good" is bad and "not bad" is good, so that single words say little.
Splits made_up() {
  Splits splits;
  splits.train.classes = splits.validation.classes = {"bad", "good"};
  for (int i = 0; i < 400; ++i) {
    const bool good = rng() % 2 == 0, negated = rng() % 2 == 0;
    Item item;
    for (size_t k = 0; k < 3 + rng() % 6; ++k)
      item.text += "word" + std::to_string(rng() % 30) + " ";
    item.text += std::string(negated ? "not " : "so ") + (good != negated ? "good" : "bad");
    for (size_t k = 0; k < rng() % 6; ++k) item.text += " word" + std::to_string(rng() % 30);
    item.labels = {good ? 1 : 0};
    (i < 320 ? splits.train : splits.validation).items.push_back(item);
  }
  return splits;
}

using Vocabulary = std::map<std::string, int64_t, std::less<>>;

std::vector<std::string> words_of(const Item& item) {
  std::string text = lower_ascii(item.text);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) == 0)
      c = ' ';
  std::vector<std::string> words;
  for (std::string_view word : split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

/// Words that occur twice; 0 is padding and 1 any other word.
Vocabulary vocabulary_of(const Dataset& data) {
  std::map<std::string, int> counts;
  for (const Item& item : data.items)
    for (const std::string& word : words_of(item)) ++counts[word];
  Vocabulary all;
  for (const auto& [word, count] : counts)
    if (count > 1) all.emplace(word, static_cast<int64_t>(all.size()) + 2);
  return all;
}

Tensor encode(std::span<const Item* const> items, const Vocabulary& vocabulary) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < items.size(); ++i) {
    for (const std::string& word : words_of(*items[i])) {
      if (ids.size() == (i + 1) * length) break;
      const auto known = vocabulary.find(word);
      ids.push_back(known == vocabulary.end() ? 1 : known->second);
    }
    ids.resize((i + 1) * length, 0);
  }
  return Tensor::ints(ids).reshaped({static_cast<int64_t>(items.size()), length});
}

Var weight(Program& p, const std::string& name, const Shape& shape, float spread) {
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = (static_cast<float>(rng() >> 8) * 0x1p-23F - 1) * spread;
  return constant(p, t, name);
}

Program network(int64_t words, int64_t classes) {
  Program p;
  const Var ids{&p, p.add_input("ids", {DType::i64, {-1, length}})};
  const Var x = transpose(embedding(weight(p, "words", {words, width}, 0.3F), ids), {0, 2, 1});
  Vars found;
  for (const int64_t size : {2, 3, 4}) {  // how many words a filter sees
    const std::string name = "conv" + std::to_string(size);
    const Var y = conv(x, weight(p, name + ".weight", {filters, width, size}, 0.08F),
                       weight(p, name + ".bias", {filters}, 0), {});
    found.push_back(apply("reduce_max", {unary("relu", y), constant(p, Tensor::ints({2}))},
                          {{"keepdims", int64_t{0}}}));
  }
  const Var all = apply("concat", found, {{"axis", int64_t{1}}});
  const Var logits = matmul(all, weight(p, "head.weight", {classes, 3 * filters}, 0.07F),
                            weight(p, "head.bias", {classes}, 0), false, true);
  p.outputs = {logits.id};
  return p;
}

struct Lines : TrainListener {
  void evaluated(int64_t epoch, int64_t, double loss, const Metrics& m, bool) override {
    std::cout << "epoch " << epoch + 1 << " loss " << loss << " accuracy " << m.at("accuracy")
              << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Splits splits = argc > 1 ? read_data(argv[1], {}) : made_up();
  const Vocabulary vocabulary = vocabulary_of(splits.train);
  const std::vector<std::string>& classes = splits.train.classes;
  const auto objective = class_objective({classes, {}, 0});
  Lines lines;
  TrainJob job;
  job.network =
      network(static_cast<int64_t>(vocabulary.size()) + 2, static_cast<int64_t>(classes.size()));
  job.objective = objective.get();
  job.encode = [&](std::span<const Item* const> items, uint64_t, bool) {
    return std::vector<Tensor>{encode(items, vocabulary)};
  };
  job.train = &splits.train;
  job.validation = &splits.validation;
  job.options.epochs = argc > 2 ? std::stoi(argv[2]) : 6;
  job.options.rate = 2e-3;
  job.listener = &lines;
  const TrainResult result = hub::train(job);
  std::cout << to_text(result.metrics);
  const double chance = 1 / static_cast<double>(classes.size());
  return result.metrics.at("accuracy") > (1 + chance) / 2 || argc > 1 ? 0 : 1;
}
