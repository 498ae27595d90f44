#include "tests/hub/tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <random>

#include "base/error.h"

namespace hub {

std::string noise(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, 0);
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

std::string Tree::parent() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                         : std::filesystem::temp_directory_path().string();
}

std::string Tree::concat_path(std::string_view where, const Digest& digest) {
  return concat(where, "/", blob_path(digest));
}

Digest Tree::put(const std::string& bytes) {
  const Digest digest = Sha256::of(bytes);
  scratch_.put(concat_path("registry", digest), bytes);
  return digest;
}

void Tree::add_entry(IndexEntry entry) {
  std::erase_if(entries_, [&](const IndexEntry& e) {
    return e.name == entry.name && e.version == entry.version;
  });
  entries_.push_back(std::move(entry));
  scratch_.put("registry/index/modules.json", write_index(entries_));
}

Digest Tree::add(const TestModule& module) {
  json document = {{"schema", 1},
                   {"name", module.name},
                   {"version", module.version},
                   {"task", "image-classification"},
                   {"summary", "a test"},
                   {"license", "MIT"},
                   {"files", json::array()}};
  uint64_t total = 0;
  for (const auto& [path, bytes] : module.files) {
    document["files"].push_back(
        {{"path", path}, {"size", bytes.size()}, {"sha256", put(bytes).hex()}});
    total += bytes.size();
  }
  if (!module.requirements.empty()) document["requires"] = module.requirements;
  const std::string text = document.dump(1);
  const Digest manifest = put(text);
  add_entry({ModuleName::parse(module.name), Version::parse(module.version), manifest, text.size(),
             total, "image-classification", "a test", "MIT"});
  return manifest;
}

Digest Tree::add_manifest(const std::string& text) {
  const Digest manifest = put(text);
  add_entry(
      {ModuleName::parse("demo"), Version::parse("1.0.0"), manifest, text.size(), 832, "", "", ""});
  return manifest;
}

std::string content(const Installed& installed, std::string_view path) {
  return std::string(installed.files->open(RelPath::parse(path)).text());
}

std::set<std::string> files_below(const std::string& folder) {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none)) {
    if (!entry.is_directory()) found.insert(entry.path().string().substr(folder.size() + 1));
  }
  return found;
}

namespace {

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int in_child(const std::function<int()>& f) {
  const pid_t pid = ::fork();
  if (pid != 0) return wait_for(pid);
  try {
    ::_exit(f());
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    ::_exit(99);
  }
}

int run_program(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  return wait_for(pid);
}

}  // namespace hub
