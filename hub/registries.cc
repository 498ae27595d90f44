#include "hub/registries.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "hub/hub.h"

namespace hub {
namespace {

constexpr uint64_t max_index = uint64_t{64} << 20;

std::string joined(const std::set<Version>& versions) {
  std::string out;
  for (const Version& v : versions) out += (out.empty() ? "" : ", ") + v.str();
  return out;
}

}  // namespace

bool Wanted::fits(const Version& candidate) const {
  if (version) return candidate == *version;
  return !candidate.prerelease() && (range == nullptr || range->contains(candidate));
}

std::string Wanted::str() const {
  if (version) return concat(name.str(), "@", version->str());
  return range != nullptr ? concat(name.str(), " ", range->str()) : name.str();
}

Registries::Registries(const Settings& settings, Progress& progress) : progress_(progress) {
  for (const std::string& address : settings.registries) {
    registries_.push_back({open_source(address, settings, progress), false, {}, std::nullopt});
  }
}

void Registries::require_any() const {
  if (registries_.empty()) {
    fail(Code::usage,
         "no registry is set; name one with 'hub config registries PLACE': file:/folder, http://… "
         "or "
         "https://…");
  }
}

const std::vector<IndexEntry>& Registries::index(Registry& registry) {
  if (registry.read) return registry.index;
  registry.read = true;
  try {
    registry.index = parse_index(registry.source->read(index_path, max_index));
  } catch (const Error& e) {
    // A registry without an index is as good as one that cannot be reached.
    const Code code = e.code() == Code::not_found ? Code::network : e.code();
    registry.trouble.emplace(code, concat("registry ", registry.source->name(), ": ", e.what()));
    if (registries_.size() > 1) progress_.note(registry.trouble->what());
  }
  return registry.index;
}

std::optional<Offer> Registries::find(const Wanted& wanted) {
  require_any();
  for (Registry& registry : registries_) {
    const IndexEntry* best = nullptr;
    for (const IndexEntry& entry : index(registry)) {
      const bool candidate = entry.name == wanted.name && wanted.fits(entry.version);
      if (candidate && (best == nullptr || best->version < entry.version)) best = &entry;
    }
    if (best != nullptr) return Offer{*best, registry.source.get()};
  }
  return std::nullopt;
}

void Registries::fail_missing(const Wanted& wanted) {
  require_any();
  std::set<Version> versions;
  std::set<std::string> names;
  std::string asked;
  for (Registry& registry : registries_) {
    for (const IndexEntry& entry : index(registry)) {
      names.insert(entry.name.str());
      if (entry.name == wanted.name) versions.insert(entry.version);
    }
    if (registry.trouble)
      throw Error(registry.trouble->code(),
                  concat(wanted.str(), " is not in the cache; ", registry.trouble->what()));
    asked += (asked.empty() ? "" : ", ") + registry.source->name();
  }
  const std::string& name = wanted.name.str();
  if (versions.empty()) {
    const auto near = nearest(name, {names.begin(), names.end()});
    fail(Code::not_found, "no module '", name, "' in ", asked,
         near.empty() ? std::string("; 'hub search' lists what there is")
                      : concat("; did you mean ", one_of(near), "?"));
  }
  if (wanted.version) {
    fail(Code::not_found, "'", name, "' has no version ", wanted.version->str(),
         "; available: ", joined(versions));
  }
  fail(Code::not_found, "'", name, "' has no version that fits",
       wanted.range != nullptr ? concat(" ", wanted.range->str())
                               : std::string(" without asking for it: all are pre-releases"),
       "; available: ", joined(versions));
}

std::vector<Offer> Registries::all() {
  require_any();
  std::vector<Offer> offers;
  bool reached = false;
  for (Registry& registry : registries_) {
    for (const IndexEntry& entry : index(registry))
      offers.push_back({entry, registry.source.get()});
    reached = reached || !registry.trouble;
  }
  if (!reached) throw Error(*registries_.front().trouble);
  return offers;
}

Manifest Registries::manifest(const Offer& offer) {
  const IndexEntry& entry = offer.entry;
  const std::string id = concat(entry.name.str(), "@", entry.version.str());
  const std::string where = concat("manifest of ", id, " in registry ", offer.source->name());
  std::string text;
  try {
    text = offer.source->read(blob_path(entry.manifest), entry.manifest_size);
  } catch (const Error& e) {
    if (e.code() != Code::refused && e.code() != Code::not_found) throw;
    fail(Code::integrity, where, ": ", e.what(), "; the index promises it with ",
         entry.manifest_size, " bytes");
  }
  const Digest found = Sha256::of(text);
  if (text.size() != entry.manifest_size || found != entry.manifest) {
    fail(Code::integrity, where, " is not what the index promises: sha256 ", found.hex(), " (",
         text.size(), " bytes) arrived, ", entry.manifest.hex(), " (", entry.manifest_size,
         " bytes) is wanted; nothing was installed");
  }
  Manifest manifest = within(where, [&] { return Manifest::parse(text); });
  if (manifest.name != entry.name || !(manifest.version == entry.version)) {
    fail(Code::integrity, where, " says that it is ", manifest.id(), "; nothing was installed");
  }
  return manifest;
}

void Registries::fetch(PrivateFile& file, const Source* first) {
  require_any();
  std::vector<Source*> order;
  for (Registry& registry : registries_) order.push_back(registry.source.get());
  std::stable_partition(order.begin(), order.end(), [&](const Source* s) { return s == first; });
  std::optional<Error> failure;
  for (Source* source : order) {
    try {
      return source->fetch(file);
    } catch (const Error& e) {
      if (e.code() != Code::not_found && e.code() != Code::network) throw;
      // One that lists the module but has not its file is damaged; its message counts, not that of
      // the others.
      const Code code = e.code() == Code::not_found ? Code::integrity : e.code();
      if (!failure) failure.emplace(code, concat("registry ", source->name(), ": ", e.what()));
    }
  }
  throw Error(*failure);
}

}  // namespace hub
