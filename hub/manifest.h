// What a module is: the manifest, read strictly. Every key is known or the manifest is refused.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "hub/name.h"

namespace hub {

using json = nlohmann::json;

struct FileEntry {
  RelPath path;
  Digest sha256;
  uint64_t size = 0;
};

struct NetworkSpec {
  std::string format;  ///< "onnx", "paddle", …: of programs, or of files of tensors
  RelPath file;
  std::string architecture;       ///< of files of tensors: a name in modules/networks
  std::optional<RelPath> config;  ///< JSON for the architecture, a file of the module
  std::optional<RelPath> parameters;  ///< Paddle: the combined parameter file; ncnn: .bin
  json options = json::object();      ///< JSON for the architecture, in the manifest
  /// What fine-tuning changed: safetensors whose tensors take the place of the network's.
  std::optional<RelPath> tuned;
  json head = json::object();  ///< what stands behind the network's features (modules/adapt.h)
};

struct Example {
  json input;  ///< {"text": …} or {"file": path in the module}, with a second one: text_b, file_b
  json output;  ///< as in the output contract
  double tolerance = 1e-4;
};

struct Manifest {
  int schema = 1;
  ModuleName name;
  Version version;
  std::string task, summary, license;
  json origin = json::object();
  std::vector<FileEntry> files;
  std::map<std::string, NetworkSpec> networks;
  json preprocess = json::object(), postprocess = json::object(),
       finetune = json::object();  ///< read by the task
  std::vector<Example> examples;
  std::map<std::string, VersionRange> requirements;  ///< "hub" or a module's name -> range
  std::string text;                                  ///< the exact bytes it was read from

  /// Bounded in bytes (1 MiB) and depth (32); duplicate keys, unknown keys and wrong types are
  /// refused by name.
  static Manifest parse(std::string_view text);
  std::string id() const { return name.str() + "@" + version.str(); }
  uint64_t total_size() const;
  const FileEntry* file(const RelPath& path) const;
};

/// Strict JSON for anything that comes from outside: size and depth bounded, duplicate keys
/// refused, valid UTF-8.
json parse_json(std::string_view text, size_t max_bytes = size_t{1} << 20, int max_depth = 32);

}  // namespace hub
