#include "finetune/saved.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

constexpr size_t example_count = 3;
constexpr double example_tolerance = 2e-3;

/// The base's files, and a few that exist only here.
class LayeredFiles final : public Files {
 public:
  LayeredFiles(std::shared_ptr<const Files> below, std::map<RelPath, std::string> own)
      : below_(std::move(below)) {
    for (auto& [path, bytes] : own) own_.emplace(path, MappedFile::of(std::move(bytes)));
  }
  MappedFile open(const RelPath& path) const override {
    const auto it = own_.find(path);
    return it != own_.end() ? it->second : below_->open(path);
  }
  bool has(const RelPath& path) const override { return own_.contains(path) || below_->has(path); }

 private:
  std::shared_ptr<const Files> below_;
  std::map<RelPath, MappedFile> own_;
};

std::string label_lines(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + "\n";
  return text;
}

json file_json(const std::string& path, const std::string& sha256, uint64_t size) {
  return {{"path", path}, {"sha256", sha256}, {"size", size}};
}

/// Files of the base that its successor keeps: not those that speak of the base's own task.
std::vector<FileEntry> kept_files(const Manifest& base) {
  std::vector<std::string> dropped = {"README.md"};
  for (const auto& [key, value] : base.postprocess.items())
    if (value.is_string()) dropped.push_back(value.get<std::string>());
  for (const auto& [name, spec] : base.networks)
    if (spec.tuned) dropped.push_back(spec.tuned->str());
  std::vector<FileEntry> kept;
  for (const FileEntry& file : base.files) {
    const std::string& path = file.path.str();
    const bool own = std::find(dropped.begin(), dropped.end(), path) != dropped.end();
    if (!own && !path.starts_with("examples/")) kept.push_back(file);
  }
  return kept;
}

/// The manifest of the new module, without files, examples and what training found out.
json skeleton(const Manifest& base, const TunePlan& plan, const std::string& name,
              const std::string& version) {
  const json old = parse_json(base.text);
  json network = old.at("networks").at(plan.network);
  network.erase("tuned");
  network.erase("head");
  if (plan.keep_head && plan.head) network["head"] = to_json(*plan.head);
  json m = {{"schema", 1},
            {"name", name},
            {"version", version},
            {"task", plan.task},
            {"summary", concat(plan.task, ", fine-tuned from ", base.id())},
            {"license", base.license},
            {"networks", {{plan.network, network}}},
            {"preprocess", plan.preprocess.empty() ? base.preprocess : plan.preprocess},
            {"postprocess", plan.postprocess},
            {"requires", {{"hub", ">=0.1"}}}};
  if (!base.finetune.empty()) m["finetune"] = base.finetune;
  return m;
}

std::string bytes_of_picture(const Item& item, const Sample& sample, std::string& suffix) {
  suffix = ".png";
  if (item.file.empty()) return encode_png(sample.image);
  suffix = std::filesystem::path(item.file).extension().string();
  return read_file(item.file);
}

}  // namespace

Draft::Draft(const Installed& base, const TunePlan& plan, const std::string& name,
             const std::string& version, const std::string& device)
    : base_(base), plan_(plan), name_(name), version_(version) {
  json m = skeleton(base.manifest, plan, name, version);
  std::map<RelPath, std::string> own;
  m["files"] = json::array();
  for (const FileEntry& f : kept_files(base.manifest))
    m["files"].push_back(file_json(f.path.str(), f.sha256.hex(), f.size));
  if (!plan.labels.empty()) {
    const std::string text = label_lines(plan.labels);
    m["files"].push_back(file_json("labels.txt", Sha256::of(text).hex(), text.size()));
    own.emplace(RelPath::parse("labels.txt"), text);
  }
  Installed draft{.manifest = Manifest::parse(m.dump()),
                  .files = std::make_shared<LayeredFiles>(base.files, std::move(own)),
                  .plans = {},
                  .installed_at = {},
                  .last_used = {}};
  module_ = Module::open(std::move(draft), silent_, device);
}

Manifest Draft::write(const std::string& folder, const SavedParts& parts) {
  make_folders(folder);
  json m = skeleton(base_.manifest, plan_, name_, version_);
  m["files"] = json::array();
  for (const FileEntry& f : kept_files(base_.manifest))
    m["files"].push_back(file_json(f.path.str(), f.sha256.hex(), f.size));
  const auto put = [&](const std::string& path, const std::string& bytes) {
    const std::string full = concat(folder, "/", path);
    if (const size_t slash = full.rfind('/'); slash != folder.size())
      make_folders(full.substr(0, slash));
    write_file(full, bytes);
    m["files"].push_back(file_json(path, Sha256::of(bytes).hex(), bytes.size()));
  };
  if (!plan_.labels.empty()) put("labels.txt", label_lines(plan_.labels));

  FileWriter tuned(folder);
  Sha256 sha;
  uint64_t size = 0;
  write_safetensors(parts.tuned, [&](std::string_view bytes) {
    tuned.add(bytes);
    sha.add(bytes);
    size += bytes.size();
  });
  tuned.commit("tuned.safetensors");
  m["files"].push_back(file_json("tuned.safetensors", sha.finish().hex(), size));
  m["networks"][plan_.network]["tuned"] = "tuned.safetensors";

  // Examples: rows of the validation set, as different as can be had cheaply.
  const auto& rows = parts.splits->validation.items;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < rows.size() && chosen.size() < example_count; ++i) {
    const bool other = std::none_of(chosen.begin(), chosen.end(), [&](size_t k) {
      return rows[k].labels == rows[i].labels && !rows[i].labels.empty();
    });
    if (other) chosen.push_back(i);
  }
  m["examples"] = json::array();
  Task& task = module_->task();
  for (size_t k = 0; k < chosen.size(); ++k) {
    const Item& item = rows[chosen[k]];
    const Item* const row = &item;
    Sample sample = samples_of({&row, 1}, plan_, task.input())[0];
    sample.tokens.clear();
    json input;
    if (task.input() == InputKind::text) {
      input = {{"text", sample.text}};
      if (!sample.text_b.empty()) input["text_b"] = sample.text_b;
    } else {
      std::string suffix;
      const std::string bytes = bytes_of_picture(item, sample, suffix);
      const std::string path = concat("examples/", k + 1, suffix);
      put(path, bytes);
      input = {{"file", path}};
    }
    m["examples"].push_back({{"input", input},
                             {"output", task.predict({&sample, 1}, {})[0]},
                             {"tolerance", example_tolerance}});
  }

  const json metrics = to_json(parts.metrics);
  json settings = json::object();
  for (const auto& [key, value] : parts.settings) settings[key] = value;
  m["origin"] = {{"base", base_.manifest.id()},
                 {"base_digest", Sha256::of(base_.manifest.text).hex()},
                 {"data_digest", parts.splits->train.digest},
                 {"rows", parts.splits->train.items.size()},
                 {"options", settings},
                 {"seed", parts.seed},
                 {"metrics", metrics.value("values", json::object())}};

  CardData card;
  card.name = name_;
  card.version = version_;
  card.task = plan_.task;
  card.summary = m["summary"].get<std::string>();
  card.base = base_.manifest.id();
  card.license = base_.manifest.license;
  card.base_digest = m["origin"]["base_digest"].get<std::string>();
  card.data_digest = parts.splits->train.digest;
  card.data = data_pairs(*parts.splits);
  card.options = parts.settings;
  card.measured_on = concat("validation set, ", rows.size(), " rows");
  card.metrics = parts.metrics;
  card.example_input = task.input() == InputKind::text && !rows.empty()
                           ? sample_of(rows[0], InputKind::text).text
                           : "picture.jpg";
  put("README.md", model_card(card));

  const std::string text = m.dump(1);
  Manifest manifest = Manifest::parse(text);
  write_file(folder + "/manifest.json", text);
  return manifest;
}

Pairs data_pairs(const Splits& splits) {
  Pairs all = {{"read as", splits.found}};
  for (const auto& [name, part] :
       {std::pair("train", &splits.train), std::pair("validation", &splits.validation),
        std::pair("test", &splits.test)}) {
    if (!part->items.empty()) all.emplace_back(name, concat(part->items.size(), " rows"));
  }
  if (!splits.train.classes.empty())
    all.emplace_back("classes", concat(splits.train.classes.size()));
  all.emplace_back("digest", splits.train.digest);
  return all;
}

namespace {

std::string wanted_of(const Item& item, const std::string& task,
                      const std::vector<std::string>& classes) {
  if (task == "sentence-embedding") return "similar";
  if (task == "reading-comprehension") return answer_of(item);
  if (item.labels.empty()) return concat(item.value);
  std::string text;
  for (size_t i = 0; i < item.labels.size() && i < 20; ++i)
    text += concat(i == 0 ? "" : ", ", classes.at(static_cast<size_t>(item.labels[i])));
  return text;
}

std::string got_of(const json& output) {
  if (output.is_array() && !output.empty() && output[0].contains("label"))
    return concat(output[0]["label"].get<std::string>(), " ", output[0].value("score", 0.0));
  if (output.contains("words")) {
    std::string text;
    for (const json& word : output["words"])
      text += concat(text.empty() ? "" : " ", word["text"].get<std::string>(), "/",
                     word["tag"].get<std::string>());
    return text;
  }
  if (output.contains("similarity"))
    return concat("similarity ", output["similarity"].get<double>());
  if (output.contains("answer")) return output["answer"].get<std::string>();
  return output.dump().substr(0, 200);
}

/// What the module says to one row.
json output_of(Module& module, const Sample& sample) {
  if (module.manifest().task != "sentence-embedding")
    return module.task().predict({&sample, 1}, {.top = 1})[0];
  Sample pair[2] = {sample, sample};
  pair[1].text = sample.text_b;
  pair[0].text_b.clear();
  pair[1].text_b.clear();
  return module.task().predict(pair, {.top = 1, .pair = true})[0];
}

}  // namespace

std::vector<WorstCase> worst_cases(const Hardest& hardest, const std::vector<std::string>& classes,
                                   Module& module, size_t count) {
  std::vector<WorstCase> worst;
  for (size_t i = 0; i < std::min(count, hardest.size()); ++i) {
    const Item& item = *hardest[i].second;
    const Sample sample = sample_of(item, module.task().input());
    WorstCase w;
    w.source = item.source;
    w.text = item.text_b.empty() ? sample.text : concat(item.text, " | ", item.text_b);
    w.wanted = wanted_of(item, module.manifest().task, classes);
    w.got = got_of(output_of(module, sample));
    w.loss = hardest[i].first;
    if (module.task().input() == InputKind::image) {
      const int side = 160;
      const int longer = std::max(sample.image.width, sample.image.height);
      const auto scaled = [&](int v) { return std::max(1, v * side / longer); };
      w.picture =
          encode_png(longer <= side ? sample.image
                                    : resize_pillow(sample.image, scaled(sample.image.width),
                                                    scaled(sample.image.height), Filter::bilinear));
    }
    worst.push_back(std::move(w));
  }
  return worst;
}

}  // namespace hub
