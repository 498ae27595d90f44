#include "finetune/plan.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/data/data.h"
#include "hub/fields.h"
#include "modules/labels.h"

namespace hub {
namespace {

bool pictures(const std::string& task) { return task == "image-classification"; }
bool texts(const std::string& task) {
  return task == "sentence-embedding" || task == "text-classification" ||
         task == "text-regression" || task == "sequence-labelling" ||
         task == "reading-comprehension";
}

std::string only_network(const Manifest& base) {
  if (base.networks.contains("main")) return "main";
  if (base.networks.size() == 1) return base.networks.begin()->first;
  fail(Code::unsupported, base.id(),
       " has several networks and none is called 'main': it cannot "
       "be fine-tuned");
}

/// A network over the characters of a text, as LAC's.
bool characters(const Manifest& base) {
  return base.task == "lexical-analysis" || base.preprocess.value("tokenizer", "") == "characters";
}

/// Its features are those of its CRF, which is a new one.
TunePlan plan_characters(const Manifest& base, const std::string& task,
                         const std::vector<std::string>& classes) {
  if (task != task_tagging)
    fail(Code::unsupported, base.id(), " (", base.task, ") can only become a module for ",
         task_tagging, ", not for ", task);
  TunePlan plan;
  plan.task = "sequence-labelling";
  plan.network = only_network(base);
  plan.head = Head{.kind = "tags",
                   .features = {},
                   .pool = "none",
                   .outputs = static_cast<int64_t>(classes.size()),
                   .crf = true};
  for (const char* key : {"words", "q2b"}) plan.preprocess[key] = base.preprocess.at(key);
  plan.preprocess["tokenizer"] = "characters";
  plan.postprocess = {{"labels", "labels.txt"}};
  plan.labels = classes;
  plan.rate = 1e-3;
  return plan;
}

Head embedding_head(const Manifest& base) {
  Fields finetune(base.finetune, base.id() + ": finetune");
  Head head{.kind = "embedding",
            .features = finetune.text("features", ""),
            .pool = "mean",
            .outputs = 1,
            .crf = false};
  finetune.done();
  return head;
}

/// Blanks stand between words, not around the characters of scripts that have none.
std::string joined(const std::vector<std::string>& tokens) {
  const auto spaced = [](char32_t c) { return c < 0x2e80; };
  std::string text;
  char32_t last = 0;
  for (const std::string& token : tokens) {
    const std::u32string points = decode_utf8(token);
    if (points.empty()) continue;
    if (last != 0 && spaced(last) && spaced(points.front())) text += ' ';
    text += token;
    last = points.back();
  }
  return text;
}

}  // namespace

TunePlan plan_tuning(const Manifest& base, const std::string& task,
                     const std::vector<std::string>& classes, bool crf) {
  if (characters(base)) return plan_characters(base, task, classes);
  if (!pictures(base.task) && !texts(base.task))
    fail(Code::unsupported, base.id(), " is for ", base.task, ", which cannot be fine-tuned; ",
         "bases are modules for image-classification, sentence-embedding and lexical-analysis");
  TunePlan plan;
  plan.network = only_network(base);
  Fields finetune(base.finetune, base.id() + ": finetune");
  Head head;
  head.features = finetune.text("features", "");
  finetune.done();
  head.pool = pictures(base.task) ? "none" : "mean";
  head.outputs = static_cast<int64_t>(classes.size());
  plan.labels = classes;
  const bool multi = task.find("multi-label") != task.npos;
  if (task == task_embedding) {
    if (pictures(base.task))
      fail(Code::unsupported, base.id(), " takes pictures; embeddings are trained on texts");
    plan.task = "sentence-embedding";
    plan.postprocess = {{"pooling", "mean"}, {"normalize", true}};
    head = embedding_head(base);
    plan.keep_head = false;
    plan.labels.clear();
  } else if (task == task_regression) {
    if (pictures(base.task))
      fail(Code::unsupported, base.id(), " takes pictures; regression is trained on texts");
    plan.task = "text-regression";
    head.outputs = 1;
    plan.labels.clear();
  } else if (task == task_tagging && texts(base.task)) {
    plan.task = "sequence-labelling";
    plan.postprocess = {{"labels", "labels.txt"}};
    head.kind = "tags";
    head.pool = "none";
    head.crf = crf;
  } else if (task == task_reading && texts(base.task)) {
    plan.task = "reading-comprehension";
    head.kind = "span";
    head.pool = "none";
    head.outputs = 2;
    plan.labels.clear();
  } else if (task == task_tagging || task == task_reading || task == task_language) {
    fail(Code::unsupported, base.id(), " (", base.task, ") cannot become a module for ", task);
  } else {
    plan.task = pictures(base.task) ? "image-classification" : "text-classification";
    plan.postprocess = {{"labels", "labels.txt"}};
    if (multi) plan.postprocess["multi_label"] = true;
    if (!multi && pictures(base.task)) plan.postprocess["softmax"] = true;
  }
  plan.head = head;
  return plan;
}

std::unique_ptr<Objective> make_objective(const TunePlan& plan, ObjectiveOptions options) {
  if (plan.task == "text-regression") return number_objective();
  if (plan.postprocess.value("multi_label", false))
    return multi_label_objective(std::move(options));
  if (plan.task == "image-classification" || plan.task == "text-classification")
    return class_objective(std::move(options));
  if (plan.task == "sentence-embedding") return pairs_objective();
  if (plan.task == "reading-comprehension") return span_objective(options.task);
  if (plan.task == "sequence-labelling")
    return tags_objective(std::move(options), plan.head && plan.head->crf);
  fail(Code::unsupported, "there is no objective for ", plan.task);
}

TunePlan plan_of(Module& module) {
  const Manifest& m = module.manifest();
  TunePlan plan;
  plan.task = m.task;
  plan.network = only_network(m);
  plan.postprocess = m.postprocess;
  plan.head = read_head(m.networks.at(plan.network).head, m.id() + ": head");
  if (m.task == "sentence-embedding") {
    plan.head = embedding_head(m);
    plan.keep_head = false;
  }
  if (m.postprocess.contains("labels"))
    plan.labels = read_labels(module, RelPath::parse(m.postprocess["labels"].get<std::string>()));
  return plan;
}

Sample sample_of(const Item& item, InputKind kind) {
  Sample sample;
  sample.name = item.source;
  if (kind == InputKind::text) {
    sample.text = item.text;
    sample.text_b = item.text_b;
    sample.tokens = item.tokens;
    if (!item.tokens.empty()) sample.text = joined(item.tokens);
    return sample;
  }
  if (!item.file.empty()) {
    Silent silent;
    sample.image = decode_image(MappedFile::open(item.file).text(), item.file, silent);
    return sample;
  }
  if (item.gray.empty())
    fail(Code::refused, item.source, ": is no picture, which is what the base module takes");
  sample.image.width = item.width;
  sample.image.height = item.height;
  for (const uint8_t v : item.gray) sample.image.pixels.insert(sample.image.pixels.end(), 3, v);
  return sample;
}

std::vector<Sample> samples_of(std::span<const Item* const> items, const TunePlan& plan,
                               InputKind kind) {
  std::vector<Sample> samples;
  for (const Item* item : items) samples.push_back(sample_of(*item, kind));
  if (plan.task != "sentence-embedding") return samples;
  for (size_t i = 0; i < items.size(); ++i) {
    samples[i].text_b.clear();
    samples.emplace_back();
    samples.back().name = items[i]->source;
    samples.back().text = items[i]->text_b;
  }
  return samples;
}

}  // namespace hub
