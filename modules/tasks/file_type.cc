// What kind of file it is, from its first and last bytes, as magika does it. preprocess: config and
// types, JSON files of the module in magika's form (sizes, labels, thresholds; what is known of
// each label).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/module.h"

namespace hub {
namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

class FileType final : public Task {
 public:
  explicit FileType(Module& module);
  InputKind input() const override { return InputKind::file; }
  size_t batch() const override { return 16; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;

 private:
  std::vector<int32_t> features(std::string_view file) const;
  void judge(const Tensor& scores, const std::vector<size_t>& rows, std::span<const Sample> samples,
             std::vector<json>& results) const;
  json result(const std::string& label, float score, const std::string& guess) const;

  Module& module_;
  size_t first_ = 0, last_ = 0, block_ = 0, least_ = 0;  ///< bytes
  int32_t padding_ = 0;
  double usual_threshold_ = 0;
  std::vector<std::string> labels_;
  std::map<std::string, double> thresholds_;
  std::map<std::string, std::string> instead_;
  json types_;
};

FileType::FileType(Module& module) : module_(module) {
  const std::string id = module.manifest().id();
  Fields pre(module.manifest().preprocess, id + ": preprocess");
  const RelPath config = pre.path("config"), types = pre.path("types");
  pre.done();
  Fields(module.manifest().postprocess, id + ": postprocess").done();

  const json read = parse_json(module.files().open(config).text());
  Fields fields(read, concat(id, ": ", config.str()));
  constexpr int64_t most = 1 << 20;
  block_ = static_cast<size_t>(fields.integer("block_size", 1, most));
  first_ = static_cast<size_t>(fields.integer("beg_size", 1, static_cast<int64_t>(block_)));
  last_ = static_cast<size_t>(fields.integer("end_size", 0, static_cast<int64_t>(block_)));
  fields.integer("mid_size", 0, 0);
  least_ =
      static_cast<size_t>(fields.integer("min_file_size_for_dl", 1, static_cast<int64_t>(first_)));
  padding_ = static_cast<int32_t>(fields.integer("padding_token", 256, most));
  usual_threshold_ = fields.number("medium_confidence_threshold");
  if (fields.boolean("use_inputs_at_offsets"))
    fields.refuse("use_inputs_at_offsets", "is true, which is not known here");
  fields.choice("protection", {"none"});
  fields.any("aes_key_hex");
  fields.integer("version_major", 3, 3);
  labels_ = fields.strings("target_labels_space");
  for (const auto& [label, value] : fields.object("thresholds").items()) {
    if (!value.is_number()) fields.refuse("thresholds", "is not numbers alone");
    thresholds_[label] = value.get<double>();
  }
  for (const auto& [label, value] : fields.object("overwrite_map").items()) {
    if (!value.is_string()) fields.refuse("overwrite_map", "is not texts alone");
    instead_[label] = value.get<std::string>();
  }
  fields.done();

  types_ = parse_json(module.files().open(types).text());
  std::vector<std::string> wanted = {"txt", "unknown", "empty"};
  wanted.insert(wanted.end(), labels_.begin(), labels_.end());
  for (const auto& [label, other] : instead_) wanted.push_back(other);
  for (const std::string& label : wanted) {
    const auto it = types_.find(label);
    if (it == types_.end() || !it->is_object() || !it->contains("is_text") ||
        !it->at("is_text").is_boolean())
      fail(Code::refused, id, ": ", types.str(), " does not say whether '", printable(label),
           "' is a text");
  }
}

/// Without the blanks around them, the first bytes padded behind, the last ones before. Empty when
/// there is too little to tell.
std::vector<int32_t> FileType::features(std::string_view file) const {
  const size_t size = std::min(block_, file.size());
  std::string_view begin = file.substr(0, size), end = file.substr(file.size() - size);
  begin.remove_prefix(std::min(begin.find_first_not_of(blanks), begin.size()));
  end = end.substr(0, end.find_last_not_of(blanks) + 1);
  if (file.size() < least_ || begin.size() < least_) return {};
  begin = begin.substr(0, first_);
  end = end.substr(end.size() - std::min(end.size(), last_));
  std::vector<int32_t> values(first_ + last_, padding_);
  const auto number = [](char c) { return int32_t{static_cast<uint8_t>(c)}; };
  std::transform(begin.begin(), begin.end(), values.begin(), number);
  std::transform(end.rbegin(), end.rend(), values.rbegin(), number);
  return values;
}

std::vector<json> FileType::predict(std::span<const Sample> samples, const RunOptions&) {
  std::vector<json> results(samples.size());
  std::vector<size_t> rows;
  std::vector<int32_t> values;
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::string_view file = samples[i].file.text();
    const std::vector<int32_t> row = features(file);
    if (row.empty()) {
      const char* label = file.empty()                         ? "empty"
                          : valid_utf8(file.substr(0, block_)) ? "txt"
                                                               : "unknown";
      results[i] = result(label, 1, "undefined");
    } else {
      rows.push_back(i);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  if (rows.empty()) return results;
  Tensor bytes(DType::i32,
               {static_cast<int64_t>(rows.size()), static_cast<int64_t>(first_ + last_)});
  std::copy(values.begin(), values.end(), bytes.data<int32_t>());
  judge(module_.network("main").run({bytes}).at(0), rows, samples, results);
  return results;
}

void FileType::judge(const Tensor& scores, const std::vector<size_t>& rows,
                     std::span<const Sample> samples, std::vector<json>& results) const {
  const Shape wanted{static_cast<int64_t>(rows.size()), static_cast<int64_t>(labels_.size())};
  if (scores.dtype() != DType::f32 || scores.shape() != wanted)
    fail(Code::refused, module_.manifest().id(), ": the network gives ", scores.spec().str(),
         ", wanted float32", wanted.str());
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::span row(scores.data<float>() + r * labels_.size(), labels_.size());
    const auto best = std::max_element(row.begin(), row.end());
    if (!(*best >= 0)) fail(Code::numeric, samples[rows[r]].name, ": a score is not a number");
    const std::string& guess = labels_[static_cast<size_t>(best - row.begin())];
    const auto other = instead_.find(guess);
    std::string label = other == instead_.end() ? guess : other->second;
    const auto threshold = thresholds_.find(guess);
    if (*best < (threshold == thresholds_.end() ? usual_threshold_ : threshold->second))
      label = types_.at(label).at("is_text").get<bool>() ? "txt" : "unknown";
    results[rows[r]] = result(label, *best, guess);
  }
}

json FileType::result(const std::string& label, float score, const std::string& guess) const {
  const json& type = types_.at(label);
  const auto text = [&](const char* key, const char* fallback) {
    const auto it = type.find(key);
    return it != type.end() && it->is_string() ? it->get<std::string>() : std::string(fallback);
  };
  const bool is_text = type.at("is_text").get<bool>();
  return {{"label", label},
          {"score", score},
          {"mime", text("mime_type", is_text ? "text/plain" : "application/octet-stream")},
          {"description", text("description", label.c_str())},
          {"group", text("group", "unknown")},
          {"guess", guess}};
}

}  // namespace

std::unique_ptr<Task> make_file_type(Module& module) { return std::make_unique<FileType>(module); }

}  // namespace hub
