// Opening a module: its networks become sessions when they are first asked for, its task likewise.
#include "modules/module.h"

#include "base/error.h"
#include "base/text.h"
#include "modules/network.h"

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

Program Module::program(const std::string& name) const {
  const auto& networks = manifest().networks;
  const auto it = networks.find(name);
  if (it == networks.end()) {
    std::vector<std::string> names;
    for (const auto& [key, spec] : networks) names.push_back(key);
    fail(Code::usage, manifest().id(), " has no network '", printable(name), "'; it has ",
         one_of(names));
  }
  const NetworkSpec& spec = it->second;
  return within(concat(manifest().id(), ": network '", name, "'"), [&]() -> Program {
    if (spec.format == "onnx") return import_onnx(files(), spec.file);
    if (spec.format == "paddle") {
      return import_paddle(files(), spec.file, spec.parameters ? spec.parameters->str() : "");
    }
    const MappedFile file = files().open(spec.file);
    const json config = network_config(files(), spec);
    if (spec.format == "checkpoint")
      return build_network(spec.architecture, read_checkpoint(file), config);
    if (spec.format == "safetensors")
      return build_network(spec.architecture, read_safetensors(file), config);
    fail(Code::unsupported, "format '", printable(spec.format),
         "' is not one of 'onnx', 'paddle', 'checkpoint' or 'safetensors'");
  });
}

Session& Module::network(const std::string& name) {
  if (const auto it = sessions_.find(name); it != sessions_.end()) return it->second;
  SessionOptions options{.device = device_, .pack_file = {}};
  if (!installed_.plans.empty() && manifest().networks.contains(name)) {
    options.pack_file = concat(installed_.plans, "/", RelPath::parse(name + ".plan").str());
  }
  std::unique_ptr<Session> session;
  if (!options.pack_file.empty()) session = Session::load(options);
  if (!session) session = std::make_unique<Session>(program(name), options);
  return sessions_.emplace(name, std::move(*session)).first->second;
}

Task& Module::task() {
  if (!task_) task_ = find_task(manifest().task)(*this);
  return *task_;
}

Sample example_sample(Module& module, const json& input) {
  const auto at = [&](const char* key) {
    const auto it = input.find(key);
    return it != input.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Sample sample;
  if (input.is_object() && input.size() == 1 && input.contains("text") &&
      input["text"].is_string()) {
    sample.name = sample.text = at("text");
  } else if (input.is_object() && input.size() == 1 && !at("file").empty()) {
    sample.name = at("file");
    const MappedFile file = module.files().open(RelPath::parse(sample.name));
    if (module.task().input() == InputKind::image) {
      sample.image = decode_image(file.text(), sample.name, module.progress());
    } else {
      sample.text = file.text();
    }
  } else {
    fail(Code::refused, module.manifest().id(),
         R"(: an example's input is {"text": …} or {"file": path}, not )",
         input.dump().substr(0, 200));
  }
  return sample;
}

}  // namespace hub
