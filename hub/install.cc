#include "hub/install.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace hub {
namespace {

constexpr size_t max_modules = 64;
constexpr int max_rounds = 3;

std::string versions_of(Catalog& catalog, const ModuleName& name) {
  std::string out;
  for (const auto& [n, version] : catalog.modules(&name))
    out += (out.empty() ? "" : ", ") + version.str();
  return out;
}

}  // namespace

Version Installer::install(const Request& request) {
  const Version version = plan({request.name, request.version}, "");
  if (planned_.empty()) return version;
  cache_.catalog().require_writable();
  require_space();
  for (int round = 0; round < max_rounds; ++round) {
    download();
    if (commit()) {
      cache_.blobs().collect();
      return version;
    }
  }
  fail(Code::busy, "another process removes files of ", request.str(),
       " while it is installed; run the same command again");
}

/// Decides on a version and puts on the list what has to be fetched for it.
Version Installer::plan(const Wanted& wanted, const std::string& wanted_by) {
  if (const auto installed = cache_.newest(wanted)) {
    const std::string id = concat(wanted.name.str(), "@", installed->str());
    if (!seen_.insert(id).second) return *installed;
    const auto row = cache_.catalog().row(wanted.name, *installed);
    if (row) {
      Manifest manifest = Manifest::parse(row->manifest);
      plan_requirements(manifest);
      const bool right =
          std::all_of(manifest.files.begin(), manifest.files.end(),
                      [&](const FileEntry& file) { return cache_.good(file, checked_); });
      if (!right) planned_.push_back({std::move(manifest), nullptr, row->registry});
      return *installed;
    }
  }
  const auto offer = registries_.find(wanted);
  if (!offer) {
    if (wanted_by.empty()) registries_.fail_missing(wanted);
    const std::string here = versions_of(cache_.catalog(), wanted.name);
    within(concat(wanted_by, " requires ", wanted.str(),
                  here.empty() ? ", which is not installed" : ", installed is ", here),
           [&] { registries_.fail_missing(wanted); });
  }
  const Version version = offer->entry.version;
  if (!seen_.insert(concat(wanted.name.str(), "@", version.str())).second) return version;
  if (seen_.size() > max_modules)
    fail(Code::refused, wanted_by, " and what it requires are more than ", max_modules, " modules");
  Manifest manifest = registries_.manifest(*offer);
  plan_requirements(manifest);
  planned_.push_back({std::move(manifest), offer->source, offer->source->name()});
  return version;
}

void Installer::plan_requirements(const Manifest& manifest) {
  for (const auto& [name, range] : manifest.requirements) {
    if (name != "hub") {
      plan({ModuleName::parse(name), std::nullopt, &range}, manifest.id());
    } else if (!range.contains(Version::parse(settings_.program_version))) {
      fail(Code::unsupported, manifest.id(), " requires hub ", range.str(), "; this is hub ",
           settings_.program_version, ": update hub, or ask for another version of the module");
    }
  }
}

void Installer::require_space() {
  uint64_t needed = 0;
  std::set<Digest> counted;
  for (const Planned& module : planned_) {
    for (const FileEntry& file : module.manifest.files) {
      if (counted.insert(file.sha256).second && !cache_.good(file, checked_)) needed += file.size;
    }
  }
  if (needed <= free_bytes(cache_.home())) return;
  cache_.blobs().collect(true);
  const uint64_t free = free_bytes(cache_.home());
  if (needed > free) {
    fail(Code::storage, planned_.back().manifest.id(), " needs ", needed, " bytes, ", free,
         " bytes are free in ", cache_.home(),
         "; remove modules with 'hub uninstall' or use a cache on a larger disk");
  }
}

void Installer::download() {
  for (const Planned& module : planned_) {
    uint64_t done = 0;
    const uint64_t total = module.manifest.total_size();
    for (const FileEntry& file : module.manifest.files) {
      fetch(module, file, done, total);
      progress_.update(module.manifest.id(), done, total);
    }
  }
}

void Installer::fetch(const Planned& module, const FileEntry& file, uint64_t& done,
                      uint64_t total) {
  const std::string id = module.manifest.id();
  const uint64_t before = done;
  done += file.size;
  if (cache_.good(file, checked_)) return;
  const auto stamp = cache_.blobs().add(
      file.sha256, file.size, concat("file '", file.path.str(), "' of ", id),
      [&] { return cache_.good(file, checked_); },
      [&](PrivateFile& target) {
        target.watch([&, id](uint64_t arrived) { progress_.update(id, before + arrived, total); });
        registries_.fetch(target, module.source);
      });
  if (stamp) checked_[file.sha256] = *stamp;
}

bool Installer::commit() {
  for (const Planned& module : planned_) {
    if (!cache_.catalog().put(module.manifest, module.registry, checked_, cache_.blobs()))
      return false;
  }
  return true;
}

}  // namespace hub
