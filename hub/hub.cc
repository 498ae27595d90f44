#include "hub/hub.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "hub/cache.h"
#include "hub/install.h"
#include "hub/registries.h"

namespace hub {
namespace {

using Modules = std::vector<std::pair<ModuleName, Version>>;

[[noreturn]] void fail_not_installed(Catalog& catalog, const Request& request) {
  std::set<std::string> names;
  std::string versions;
  for (const auto& [name, version] : catalog.modules()) {
    names.insert(name.str());
    if (name == request.name) versions += (versions.empty() ? "" : ", ") + version.str();
  }
  if (!versions.empty())
    fail(Code::not_found, request.str(), " is not installed; installed is ", versions);
  const auto near = nearest(request.name.str(), {names.begin(), names.end()});
  fail(Code::not_found, "'", request.str(), "' is not installed",
       near.empty() ? std::string("; 'hub list' shows what is")
                    : concat("; did you mean ", one_of(near), "?"));
}

Modules sorted(Modules modules) {
  std::sort(modules.begin(), modules.end());
  return modules;
}

}  // namespace

struct Hub::Impl {
  Settings settings;
  Progress& progress;
  std::shared_ptr<Cache> cache;
  std::optional<Registries> opened;

  /// Opened when they are first needed: finding an installed module asks no registry.
  Registries& registries() {
    if (!opened) opened.emplace(settings, progress);
    return *opened;
  }
  /// The installed modules that are meant; throws not_found when there are none.
  Modules installed(const Request& request) {
    Modules found = cache->catalog().modules(&request.name);
    std::erase_if(found,
                  [&](const auto& m) { return request.version && m.second != *request.version; });
    if (found.empty()) fail_not_installed(cache->catalog(), request);
    return sorted(std::move(found));
  }
  VerifyReport verify(const Manifest& manifest, std::map<Digest, std::string>& verdicts);
};

Hub::Hub(Settings settings, Progress& progress) {
  auto cache = std::make_shared<Cache>(settings.home, progress);
  impl_.reset(new Impl{std::move(settings), progress, std::move(cache), std::nullopt});
}

Hub::~Hub() = default;

Installed Hub::install(const Request& request) {
  const Version version =
      Installer(*impl_->cache, impl_->registries(), impl_->settings, impl_->progress)
          .install(request);
  auto installed = impl_->cache->open(request.name, version);
  if (!installed)
    fail(Code::busy, request.str(),
         " was uninstalled by another process; run the same command again");
  return std::move(*installed);
}

Installed Hub::add(const Manifest& manifest, const std::map<RelPath, std::string>& sources) {
  Cache& cache = *impl_->cache;
  cache.catalog().require_writable();
  if (const auto row = cache.catalog().row(manifest.name, manifest.version);
      row && row->manifest != manifest.text) {
    fail(Code::refused, manifest.id(),
         " is in the cache with another content; choose another "
         "version, or uninstall that one");
  }
  Stamps checked;
  for (const FileEntry& file : manifest.files) {
    const std::string name = concat("file '", file.path.str(), "' of ", manifest.id());
    const auto good = [&] { return cache.good(file, checked); };
    if (good()) continue;
    const auto source = sources.find(file.path);
    if (source == sources.end()) fail(Code::not_found, name, " is nowhere here");
    const MappedFile bytes = MappedFile::open(source->second);
    const auto stamp = cache.blobs().add(file.sha256, file.size, name, good,
                                         [&](PrivateFile& to) { to.add(bytes.text()); });
    if (stamp) checked[file.sha256] = *stamp;
  }
  if (!cache.catalog().put(manifest, "made here", checked, cache.blobs()))
    fail(Code::busy, "another process removes files of ", manifest.id(), "; try again");
  return *find({manifest.name, manifest.version});
}

std::optional<Installed> Hub::find(const Request& request) {
  const auto version = impl_->cache->newest({request.name, request.version});
  if (!version) return std::nullopt;
  auto installed = impl_->cache->open(request.name, *version);
  if (installed) impl_->cache->catalog().touch(request.name, *version);
  return installed;
}

Installed Hub::need(const Request& request) {
  auto found = find(request);
  if (found && !found->broken) return std::move(*found);
  if (found)
    impl_->progress.note(concat("a file of ", found->manifest.id(),
                                " is missing from the cache; fetching it again"));
  return install(found ? Request{request.name, found->manifest.version} : request);
}

std::vector<std::string> Hub::uninstall(const Request& request) {
  std::vector<std::string> removed;
  for (const auto& [name, version] : impl_->installed(request)) {
    impl_->cache->remove(name, version);
    removed.push_back(concat(name.str(), "@", version.str()));
  }
  return removed;
}

std::vector<Installed> Hub::list() {
  std::vector<Installed> found;
  for (const auto& [name, version] : sorted(impl_->cache->catalog().modules())) {
    if (auto installed = impl_->cache->open(name, version, true))
      found.push_back(std::move(*installed));
  }
  return found;
}

std::vector<Listing> Hub::search(const std::vector<std::string>& words) {
  std::map<std::string, Offer> newest;
  for (const Offer& offer : impl_->registries().all()) {
    const auto [place, fresh] = newest.emplace(offer.entry.name.str(), offer);
    const Version &old = place->second.entry.version, &candidate = offer.entry.version;
    // The first registry that has a name speaks for it; a pre-release counts only where there is
    // nothing else.
    const bool better =
        old.prerelease() != candidate.prerelease() ? old.prerelease() : old < candidate;
    if (!fresh && offer.source == place->second.source && better) place->second = offer;
  }
  std::vector<Listing> found;
  for (const auto& [name, offer] : newest) {
    const IndexEntry& e = offer.entry;
    const std::string text = lower_ascii(concat(name, "\n", e.task, "\n", e.summary));
    const bool all = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return text.find(lower_ascii(word)) != text.npos;
    });
    if (all)
      found.push_back(
          {e.name, e.version, e.task, e.summary, e.license, offer.source->name(), e.total_size});
  }
  return found;
}

Manifest Hub::show(const Request& request) {
  const Wanted wanted{request.name, request.version};
  if (const auto version = impl_->cache->newest(wanted)) {
    if (const auto row = impl_->cache->catalog().row(request.name, *version))
      return Manifest::parse(row->manifest);
  }
  const auto offer = impl_->registries().find(wanted);
  if (!offer) impl_->registries().fail_missing(wanted);
  return impl_->registries().manifest(*offer);
}

std::vector<Version> Hub::versions(const ModuleName& name) {
  std::set<Version> found;
  for (const auto& [n, version] : impl_->cache->catalog().modules(&name)) found.insert(version);
  try {
    for (const Offer& offer : impl_->registries().all()) {
      if (offer.entry.name == name) found.insert(offer.entry.version);
    }
  } catch (const Error& e) {
    if (found.empty()) throw;
    impl_->progress.note(e.what());
  }
  if (found.empty()) impl_->registries().fail_missing({name, std::nullopt});
  return {found.begin(), found.end()};
}

VerifyReport Hub::Impl::verify(const Manifest& manifest, std::map<Digest, std::string>& verdicts) {
  VerifyReport report{manifest.id(), {}};
  const Blobs& blobs = cache->blobs();
  uint64_t done = 0;
  for (const FileEntry& file : manifest.files) {
    auto [verdict, fresh] = verdicts.emplace(file.sha256, "");
    done += file.size;
    progress.update(concat("checking ", manifest.id()), done, manifest.total_size());
    if (fresh) {
      const auto stamp = Stamp::of(blobs.path(file.sha256));
      const auto found = blobs.rehash(file.sha256);
      if (!found) {
        verdict->second = " is missing or cannot be read";
      } else if (*found != file.sha256) {
        verdict->second =
            concat(" has sha256 ", found->hex(), ", ", file.sha256.hex(), " is wanted");
        const bool same = Stamp::of(blobs.path(file.sha256)) == stamp;
        if (same && cache->catalog().writable()) blobs.remove(file.sha256);
      } else if (stamp) {
        cache->catalog().set_stamp(file.sha256, *stamp);
      }
    }
    if (!verdict->second.empty()) {
      report.problems.push_back(concat("file '", file.path.str(), "'", verdict->second,
                                       "; 'hub install ", manifest.id(), "' repairs it"));
    }
  }
  return report;
}

std::vector<VerifyReport> Hub::verify(const std::optional<Request>& request) {
  const Modules modules =
      request ? impl_->installed(*request) : sorted(impl_->cache->catalog().modules());
  std::map<Digest, std::string> verdicts;
  std::vector<VerifyReport> reports;
  for (const auto& [name, version] : modules) {
    const auto row = impl_->cache->catalog().row(name, version);
    if (row) reports.push_back(impl_->verify(Manifest::parse(row->manifest), verdicts));
  }
  return reports;
}

}  // namespace hub
