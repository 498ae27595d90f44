#include "hub/index.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "hub/fields.h"
#include "hub/manifest.h"

namespace hub {
namespace {

constexpr size_t max_index = size_t{64} << 20, max_manifest = size_t{1} << 20;
constexpr size_t max_modules = 1'000'000, max_versions = 10'000;
constexpr uint64_t max_total = uint64_t{1} << 50;

IndexEntry read_entry(const json& item, const ModuleName& name) {
  Fields f(item, concat("index, module ", name.str()));
  IndexEntry entry = within(f.where(), [&] {
    return IndexEntry{.name = name,
                      .version = Version::parse(f.text("version")),
                      .manifest = Digest::parse(f.text("manifest")),
                      .manifest_size = f.size("manifest_size", max_manifest),
                      .total_size = f.size("total_size", max_total),
                      .task = f.text("task", ""),
                      .summary = f.text("summary", ""),
                      .license = f.text("license", "")};
  });
  f.done();
  return entry;
}

/// Throws when two entries are the same module and version.
void sort_entries(std::vector<IndexEntry>& entries) {
  auto key = [](const IndexEntry& e) { return std::tie(e.name, e.version); };
  std::sort(entries.begin(), entries.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto twin =
      std::adjacent_find(entries.begin(), entries.end(),
                         [&](const auto& a, const auto& b) { return key(a) == key(b); });
  if (twin != entries.end()) {
    fail(Code::refused, "index: ", twin->name.str(), "@", twin->version.str(), " is listed twice");
  }
}

}  // namespace

std::string blob_path(const Digest& digest) {
  return concat("blobs/sha256/", digest.hex().substr(0, 2), "/", digest.hex());
}

std::vector<IndexEntry> parse_index(std::string_view text) {
  const json document = parse_json(text, max_index, 8);
  Fields f(document, "index");
  if (f.integer("schema", 0, 1'000'000) != 1) {
    fail(Code::unsupported, "the index of the registry has schema ", f.integer("schema", 0, 1'000'000),
         "; this hub reads schema 1: a newer hub is needed");
  }
  f.any("modules");
  std::vector<IndexEntry> entries;
  for (const json& module : f.list("modules", max_modules)) {
    Fields m(module, "index, module");
    const ModuleName name = within("index", [&] { return ModuleName::parse(m.text("name")); });
    m.any("versions");
    for (const json& item : m.list("versions", max_versions)) {
      entries.push_back(read_entry(item, name));
    }
    m.done();
  }
  f.done();
  sort_entries(entries);
  return entries;
}

std::string write_index(std::vector<IndexEntry> entries) {
  sort_entries(entries);
  json modules = json::array();
  for (const IndexEntry& e : entries) {
    if (modules.empty() || modules.back()["name"] != e.name.str()) {
      modules.push_back({{"name", e.name.str()}, {"versions", json::array()}});
    }
    modules.back()["versions"].push_back({{"version", e.version.str()},
                                          {"manifest", e.manifest.hex()},
                                          {"manifest_size", e.manifest_size},
                                          {"total_size", e.total_size},
                                          {"task", e.task},
                                          {"summary", e.summary},
                                          {"license", e.license}});
  }
  return json{{"schema", 1}, {"modules", modules}}.dump(1) + "\n";
}

}  // namespace hub
