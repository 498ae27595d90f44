// A new empty folder for one test, gone afterwards.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hub {

class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string path = (parent / "hub-test.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no scratch folder: " + path);
    path_ = path;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  /// Writes a file below the folder, with its parents; returns its path.
  std::string put(std::string_view name, std::string_view bytes) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  /// Files and folders below, at any depth.
  size_t count() const {
    using Walk = std::filesystem::recursive_directory_iterator;
    return static_cast<size_t>(std::distance(Walk(path_), Walk()));
  }

 private:
  std::string path_;
};

}  // namespace hub
