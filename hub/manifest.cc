#include "hub/manifest.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "hub/path_set.h"

namespace hub {
namespace {

constexpr size_t max_files = 10'000, max_networks = 64, max_examples = 64;
constexpr uint64_t max_file_size = uint64_t{1} << 40;

std::string at(std::string_view list, size_t i) { return concat(list, "[", i, "]"); }

std::vector<FileEntry> read_files(const json& list) {
  std::vector<FileEntry> files;
  PathSet paths;
  for (const json& item : list) {
    Fields f(item, at("files", files.size()));
    within(f.where(), [&] {
      FileEntry entry{RelPath::parse(f.text("path")), Digest::parse(f.text("sha256")),
                      f.size("size", max_file_size)};
      paths.add(entry.path);
      files.push_back(std::move(entry));
    });
    f.done();
  }
  if (files.empty()) fail(Code::refused, "the manifest lists no files");
  return files;
}

/// A key that names a file of the module.
RelPath file_field(Fields& f, std::string_view key, const Manifest& manifest) {
  const RelPath path = within(f.where(), [&] { return RelPath::parse(f.text(key)); });
  if (manifest.file(path) == nullptr) {
    fail(Code::refused, f.where(), ": '", key, "' is '", path.str(),
         "', which is not among the files of the module");
  }
  return path;
}

NetworkSpec read_network(const json& item, const std::string& name, const Manifest& manifest) {
  Fields f(item, concat("networks.", name));
  const std::string format = f.text("format");
  // Of tensors, from which a network of modules/networks is built; the others hold a program.
  const std::vector<std::string> tensors = {"checkpoint", "ctranslate2", "hdf5", "safetensors"};
  const std::vector<std::string> programs = {"onnx", "paddle", "tflite", "ncnn"};
  const auto among = [&](const std::vector<std::string>& formats) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  const bool built = among(tensors);
  if (!built && !among(programs)) {
    fail(Code::refused, f.where(), ": unknown format '", format, "'; ", one_of(programs), " or ",
         one_of(tensors), " is wanted");
  }
  NetworkSpec spec{.format = format,
                   .file = file_field(f, "file", manifest),
                   .architecture = {},
                   .config = {},
                   .parameters = {},
                   .options = json::object(),
                   .tuned = {},
                   .head = f.object_or_empty("head")};
  if (f.has("tuned")) spec.tuned = file_field(f, "tuned", manifest);
  if (built) {
    spec.architecture = f.text("architecture");
    if (f.has("config")) spec.config = file_field(f, "config", manifest);
    spec.options = f.object_or_empty("options");
  }
  if (format == "ncnn" || (format == "paddle" && f.has("parameters"))) {
    spec.parameters = file_field(f, "parameters", manifest);
  }
  f.done();
  return spec;
}

void read_networks(const json& object, Manifest& manifest) {
  if (object.size() > max_networks) {
    fail(Code::refused, "networks: ", object.size(), " of them; at most ", max_networks);
  }
  for (const auto& [name, item] : object.items()) {
    within("networks", [&name = name] { ModuleName::parse(name); });
    manifest.networks.emplace(name, read_network(item, name, manifest));
  }
}

void read_examples(const json& list, Manifest& manifest) {
  for (const json& item : list) {
    Fields f(item, at("examples", manifest.examples.size()));
    Fields input(f.object("input"), f.where() + ".input");
    if (input.has("file")) {
      file_field(input, "file", manifest);
    } else if (!input.any("text").is_string()) {
      fail(Code::refused, input.where(), ": 'text' is not text");
    }
    if (input.has("file_b")) {
      file_field(input, "file_b", manifest);
    } else if (input.has("text_b") && !input.any("text_b").is_string()) {
      fail(Code::refused, input.where(), ": 'text_b' is not text");
    }
    input.done();
    const double tolerance = f.number("tolerance", 1e-4);
    if (!(tolerance >= 0))
      f.refuse("tolerance", concat("is ", tolerance, "; at least 0 is wanted"));
    manifest.examples.push_back({f.object("input"), f.any("output"), tolerance});
    f.done();
  }
}

void read_requirements(const json& object, Manifest& manifest) {
  for (const auto& [name, range] : object.items()) {
    within("requires", [&, &name = name, &range = range] {
      ModuleName::parse(name);
      if (!range.is_string()) fail(Code::refused, "'", name, "' is not text, such as \">=1.2\"");
      manifest.requirements.emplace(name, VersionRange::parse(range.get_ref<const std::string&>()));
    });
  }
}

}  // namespace

Manifest Manifest::parse(std::string_view text) {
  const json document = parse_json(text);
  Fields f(document, "manifest");
  if (f.has("schema") && f.integer("schema", 0, 1'000'000) != 1) {
    fail(Code::unsupported, "the manifest has schema ", f.integer("schema", 0, 1'000'000),
         "; this hub reads schema 1: a newer hub is needed");
  }
  Manifest m{.name = ModuleName::parse(f.text("name")),
             .version = Version::parse(f.text("version")),
             .task = f.text("task", ""),
             .summary = f.text("summary", ""),
             .license = f.text("license", ""),
             .origin = f.object_or_empty("origin"),
             .files = read_files(f.list("files", max_files)),
             .networks = {},
             .preprocess = f.object_or_empty("preprocess"),
             .postprocess = f.object_or_empty("postprocess"),
             .finetune = f.object_or_empty("finetune"),
             .examples = {},
             .requirements = {},
             .text = std::string(text)};
  if (!m.task.empty()) within("task", [&] { ModuleName::parse(m.task); });
  read_networks(f.object_or_empty("networks"), m);
  read_examples(f.list("examples", max_examples), m);
  read_requirements(f.object_or_empty("requires"), m);
  f.done();
  return m;
}

uint64_t Manifest::total_size() const {
  uint64_t total = 0;
  for (const FileEntry& file : files) total += file.size;
  return total;
}

const FileEntry* Manifest::file(const RelPath& path) const {
  for (const FileEntry& file : files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace hub
