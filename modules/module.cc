// Opening a module: its networks become sessions when they are first asked for, its task likewise.
#include "modules/module.h"

#include "base/error.h"
#include "base/text.h"
#include "modules/adapt.h"
#include "modules/network.h"
#include "runtime/import/ctranslate2.h"

namespace hub {
namespace {

json network_config(const Files& files, const NetworkSpec& spec) {
  json config = json::object();
  if (spec.config) {
    config = parse_json(files.open(*spec.config).text());
    if (!config.is_object()) fail(Code::refused, spec.config->str(), " is not a JSON object");
  }
  config.update(spec.options);
  return config;
}

}  // namespace

Module::Module(Installed installed, Progress& progress, std::string device)
    : installed_(std::move(installed)), progress_(progress), device_(std::move(device)) {}

Module::~Module() = default;

std::unique_ptr<Module> Module::open(Installed installed, Progress& progress, std::string device) {
  const Manifest& manifest = installed.manifest;
  if (find_task(manifest.task) == nullptr) {
    fail(Code::unsupported, manifest.id(), " has no run task: '", printable(manifest.task),
         "' is not one of ", one_of(task_names()));
  }
  return std::unique_ptr<Module>(new Module(std::move(installed), progress, std::move(device)));
}

const NetworkSpec& Module::network_spec(const std::string& name) const {
  const auto& networks = manifest().networks;
  const auto it = networks.find(name);
  if (it == networks.end()) {
    std::vector<std::string> names;
    for (const auto& [key, spec] : networks) names.push_back(key);
    fail(Code::usage, manifest().id(), " has no network '", printable(name), "'; it has ",
         one_of(names));
  }
  return it->second;
}

Program Module::program(const std::string& name) const {
  const NetworkSpec& spec = network_spec(name);
  Program program = bare_program(name);
  within(concat(manifest().id(), ": network '", name, "'"), [&] {
    const auto head = read_head(spec.head, "head");
    if (!head && !spec.tuned) return;
    NamedTensors tuned;
    if (spec.tuned) tuned = read_safetensors(files().open(*spec.tuned));
    adapt(program, head, tuned);
  });
  return program;
}

Program Module::bare_program(const std::string& name) const {
  const NetworkSpec& spec = network_spec(name);
  return within(concat(manifest().id(), ": network '", name, "'"), [&]() -> Program {
    if (spec.format == "onnx") return import_onnx(files(), spec.file);
    if (spec.format == "paddle") {
      return import_paddle(files(), spec.file, spec.parameters ? spec.parameters->str() : "");
    }
    if (spec.format == "ncnn") return import_ncnn(files(), spec.file, spec.parameters.value());
    const MappedFile file = files().open(spec.file);
    if (spec.format == "tflite") return import_tflite(file);
    const json config = network_config(files(), spec);
    if (spec.format == "checkpoint")
      return build_network(spec.architecture, read_checkpoint(file), config);
    if (spec.format == "hdf5") return build_network(spec.architecture, read_hdf5(file), config);
    if (spec.format == "safetensors")
      return build_network(spec.architecture, read_safetensors(file), config);
    if (spec.format == "ctranslate2")
      return build_network(spec.architecture, read_ctranslate2(file), config);
    fail(Code::unsupported, "format '", printable(spec.format), "' has no reader");
  });
}

const std::vector<std::string>& Module::input_names(const std::string& name) {
  const std::lock_guard lock(lazy_);
  const auto [it, fresh] = input_names_.try_emplace(name);
  if (fresh) {
    const auto given = given_.find(name);
    const Program& p = given != given_.end() ? given->second : network(name).program();
    for (ValueId id : p.inputs) it->second.push_back(p[id].name);
  }
  return it->second;
}

void Module::use(const std::string& name, Program program) {
  const std::lock_guard lock(lazy_);
  sessions_.erase(name);
  input_names_.erase(name);
  given_.insert_or_assign(name, std::move(program));
}

Session& Module::network(const std::string& name) {
  const std::lock_guard lock(lazy_);
  if (const auto it = sessions_.find(name); it != sessions_.end()) return it->second;
  SessionOptions options;
  options.device = device_;
  if (!installed_.plans.empty() && manifest().networks.contains(name)) {
    options.pack_file = concat(installed_.plans, "/", RelPath::parse(name + ".plan").str());
  }
  if (const auto it = given_.find(name); it != given_.end())
    return sessions_
        .emplace(name, Session(it->second, {.device = device_, .pack_file = {}, .states = {}}))
        .first->second;
  std::unique_ptr<Session> session;
  if (!options.pack_file.empty()) session = Session::load(options);
  if (!session) session = std::make_unique<Session>(program(name), options);
  return sessions_.emplace(name, std::move(*session)).first->second;
}

Task& Module::task() {
  const std::lock_guard lock(lazy_);
  if (!task_) task_ = find_task(manifest().task)(*this);
  return *task_;
}

Sample example_sample(Module& module, const json& input) {
  const auto at = [&](const char* key) {
    const auto it = input.find(key);
    return it != input.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto picture = [&](const MappedFile& file, const std::string& name) {
    return decode_image(file.text(), name, module.progress(), module.task().alpha());
  };
  Sample sample;
  const size_t second = !at("text_b").empty() || !at("file_b").empty() ? 1 : 0;
  const bool whole = input.is_object() && input.size() == 1 + second;
  if (whole && !at("text_b").empty()) sample.text_b = at("text_b");
  if (whole && !at("file_b").empty())
    sample.image_b = picture(module.files().open(RelPath::parse(at("file_b"))), at("file_b"));
  if (whole && input.contains("text") && input["text"].is_string()) {
    sample.name = sample.text = at("text");
  } else if (whole && !at("file").empty()) {
    sample.name = at("file");
    const MappedFile file = module.files().open(RelPath::parse(sample.name));
    switch (module.task().input()) {
      case InputKind::image: sample.image = picture(file, sample.name); break;
      case InputKind::audio: sample.audio = decode_audio(file.text(), sample.name); break;
      case InputKind::video:
      case InputKind::file: sample.file = file; break;
      case InputKind::text: sample.text = file.text();
    }
  } else {
    fail(Code::refused, module.manifest().id(),
         R"(: an example's input is {"text": …} or {"file": path}, not )",
         input.dump().substr(0, 200));
  }
  return sample;
}

}  // namespace hub
