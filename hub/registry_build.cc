// Making a registry: recipes and downloaded packages in, a tree of static files out.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "hub/archive.h"
#include "hub/hub.h"
#include "hub/index.h"
#include "hub/private_file.h"
#include "hub/recipe.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t block = 1 << 18;
constexpr uint64_t max_document = uint64_t{1} << 20;

/// Hands out the next bytes; 0 at the end.
using Source = std::function<size_t(std::span<std::byte> buffer)>;

/// The bytes of a mapped file, piece by piece.
Source bytes_of(const MappedFile& file) {
  return [file, at = size_t{0}](std::span<std::byte> buffer) mutable {
    const auto piece = file.bytes().subspan(at, std::min(buffer.size(), file.size() - at));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    at += piece.size();
    return piece.size();
  };
}

/// One module's part of the work.
struct Job {
  std::string folder;
  Manifest manifest;
  Recipe recipe;
};

class Builder {
 public:
  Builder(std::string packages, std::string output, Progress& progress)
      : packages_(std::move(packages)), output_(std::move(output)), progress_(progress) {}

  void add(const Job& job) {
    job_ = &job;
    const bool fresh = is_new(job.manifest);
    for (const auto& [path, file] : job.recipe.files) {
      const FileEntry& entry = *job.manifest.file(path);
      if (!file.package.empty() || has_blob(entry.sha256, entry.size)) continue;
      const MappedFile beside = FolderFiles(job.folder).open(file.source);
      store(entry.sha256, entry.size, bytes_of(beside), concat(job.folder, "/", file.source.str()));
    }
    for (const RecipePackage& package : job.recipe.packages) take_from(package);
    for (const FileEntry& entry : job.manifest.files) {
      ++report_.files;
      report_.bytes += entry.size;
    }
    report_.modules.push_back(job.manifest.id());
    if (fresh) publish(job.manifest);
  }

  RegistryReport finish() {
    const std::string path = index_file();
    const std::string text = write_index(std::move(entries_));
    if (exists(path) && read_file(path) == text) return report_;
    make_folders(concat(output_, "/index"));
    write_file(path, text);
    return report_;
  }

  /// What was published there before stays.
  void read_index() {
    if (exists(index_file())) {
      entries_ = within(index_file(), [&] { return parse_index(read_file(index_file())); });
    }
  }

 private:
  std::string index_file() const { return concat(output_, "/", index_path); }
  std::string blob_file(const Digest& d) const { return concat(output_, "/", blob_path(d)); }

  bool has_blob(const Digest& digest, uint64_t size) const {
    std::error_code error;
    return fs::file_size(blob_file(digest), error) == size && !error;
  }

  void store(const Digest& digest, uint64_t size, const Source& source, const std::string& from) {
    if (has_blob(digest, size)) return;
    const std::string path = blob_file(digest);
    const std::string folder = path.substr(0, path.rfind('/'));
    make_folders(folder);
    PrivateFile file(folder, digest, size, from);
    std::string buffer(block, '\0');
    while (const size_t n = source(std::as_writable_bytes(std::span(buffer)))) {
      if (n > size - file.done()) wrong_size(from, "more", size);
      file.add(std::string_view(buffer).substr(0, n));
    }
    if (file.done() < size) wrong_size(from, "fewer", size);
    if (!file.matches()) {
      fail(Code::integrity, from, " does not have the SHA-256 ", digest.hex(),
           " that the manifest of ", job_->manifest.id(), " promises");
    }
    file.publish(path);
  }

  [[noreturn]] void wrong_size(const std::string& from, std::string_view found, uint64_t size) {
    fail(Code::integrity, from, " holds ", found, " than the ", size,
         " bytes that the manifest of ", job_->manifest.id(), " promises");
  }

  void take_from(const RecipePackage& package) {
    std::map<RelPath, const FileEntry*> missing;  // by member
    for (const auto& [path, file] : job_->recipe.files) {
      const FileEntry* entry = job_->manifest.file(path);
      if (file.package != package.name || has_blob(entry->sha256, entry->size)) continue;
      const auto [first, fresh] = missing.emplace(file.source, entry);
      if (!fresh && first->second->sha256 != entry->sha256) {
        fail(Code::refused, job_->manifest.id(), ": '", path.str(), "' and '",
             first->second->path.str(), "' are one member with two digests");
      }
    }
    if (missing.empty()) return;
    const std::string archive = checked_package(package);
    progress_.note(concat(job_->manifest.id(), ": taking ", missing.size(), " files from ",
                          package.file.str()));
    read_archive(archive, {}, [&](const RelPath& path, uint64_t, MemberReader& reader) {
      const auto wanted = missing.find(path);
      if (wanted == missing.end()) return;
      const FileEntry& entry = *wanted->second;
      store(
          entry.sha256, entry.size, [&](std::span<std::byte> b) { return reader.read(b); },
          concat(package.file.str(), ": ", path.str()));
      missing.erase(wanted);
    });
    if (!missing.empty()) {
      fail(Code::integrity, package.file.str(), " has no member '", missing.begin()->first.str(),
           "', which the recipe of ", job_->manifest.id(), " names");
    }
  }

  /// The path of the package; its size and digest are what the recipe says.
  std::string checked_package(const RecipePackage& package) {
    const std::string path = concat(packages_, "/", package.file.str());
    if (!exists(path)) {
      fail(Code::not_found, job_->manifest.id(), " needs the package ", path,
           "; get it with: ", package.command(), " --dest ", packages_);
    }
    if (checked_.contains(package.sha256)) return path;
    const MappedFile file = MappedFile::open(path);
    if (file.size() != package.size) {
      fail(Code::integrity, path, " has ", file.size(), " bytes; the recipe of ",
           job_->manifest.id(), " wants ", package.size, "; get it anew with: ", package.command());
    }
    Sha256 sha;
    for (size_t at = 0; at < file.size(); at += block) {
      sha.add(file.bytes().subspan(at, std::min(block, file.size() - at)));
      progress_.update(package.file.str(), at, file.size());
    }
    const Digest found = sha.finish();
    if (found != package.sha256) {
      fail(Code::integrity, path, " has SHA-256 ", found.hex(), "; the recipe of ",
           job_->manifest.id(), " wants ", package.sha256.hex(),
           "; get it anew with: ", package.command());
    }
    checked_.insert(package.sha256);
    return path;
  }

  /// Whether this version is not in the index yet; throws when it is there with other bytes.
  bool is_new(const Manifest& m) const {
    for (const IndexEntry& old : entries_) {
      if (old.name != m.name || old.version != m.version) continue;
      if (old.manifest == Sha256::of(std::string_view(m.text))) return false;
      fail(Code::refused, m.id(), " is published in ", output_,
           " with other bytes; raise the version, or build into a new folder");
    }
    return true;
  }

  void publish(const Manifest& m) {
    const Digest digest = Sha256::of(std::string_view(m.text));
    if (!has_blob(digest, m.text.size())) {
      const std::string path = blob_file(digest);
      make_folders(path.substr(0, path.rfind('/')));
      write_file(path, m.text);
    }
    entries_.push_back({.name = m.name,
                        .version = m.version,
                        .manifest = digest,
                        .manifest_size = m.text.size(),
                        .total_size = m.total_size(),
                        .task = m.task,
                        .summary = m.summary,
                        .license = m.license});
  }

  std::string packages_, output_;
  Progress& progress_;
  const Job* job_ = nullptr;
  std::set<Digest> checked_;
  std::vector<IndexEntry> entries_;
  RegistryReport report_;
};

/// The recipe and the manifest must speak of the same files, and the folder of the same module.
Job read_job(const fs::path& folder) {
  return within(folder.string(), [&] {
    Job job{folder.string(), Manifest::parse(read_file(folder / "manifest.json", max_document)),
            Recipe::parse(read_file(folder / "recipe.json", max_document))};
    const Manifest& m = job.manifest;
    if (m.name.str() != folder.filename()) {
      fail(Code::refused, "the manifest is that of '", m.name.str(), "'; folder and name differ");
    }
    for (const auto& [path, file] : job.recipe.files) {
      if (m.file(path) == nullptr) {
        fail(Code::refused, "'", path.str(), "' is in the recipe and not in the manifest");
      }
    }
    for (const FileEntry& entry : m.files) {
      if (!job.recipe.files.contains(entry.path)) {
        fail(Code::refused, "'", entry.path.str(), "' is in the manifest and not in the recipe");
      }
    }
    return job;
  });
}

}  // namespace

RegistryReport build_registry(const std::string& recipes, const std::string& packages,
                              const std::string& output, Progress& progress) {
  if (!is_folder(recipes)) fail(Code::not_found, recipes, " is not a folder of recipes");
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(recipes)) {
    if (exists(entry.path() / "recipe.json")) folders.insert(entry.path());
  }
  if (folders.empty()) fail(Code::not_found, recipes, " holds no NAME/recipe.json");
  std::vector<Job> jobs;
  for (const fs::path& folder : folders) jobs.push_back(read_job(folder));
  Builder builder(packages, output, progress);
  builder.read_index();
  for (const Job& job : jobs) builder.add(job);
  return builder.finish();
}

}  // namespace hub
