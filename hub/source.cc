#include "hub/source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "hub/http.h"
#include "hub/hub.h"
#include "hub/index.h"

namespace hub {
namespace {

class FolderSource final : public Source {
 public:
  FolderSource(std::string name, std::string folder)
      : Source(std::move(name)), folder_(std::move(folder)) {}

  std::string read(std::string_view path, uint64_t limit) override {
    return read_file(concat(folder_, "/", path), limit);
  }

  void fetch(PrivateFile& file) override {
    const std::string path = concat(folder_, "/", blob_path(file.digest()));
    struct Closing {
      int fd;
      ~Closing() {
        if (fd >= 0) ::close(fd);
      }
    } from{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (from.fd < 0) fail_errno("cannot open", path);
    std::vector<char> buffer(size_t{1} << 20);
    for (;;) {
      const ssize_t n =
          ::pread(from.fd, buffer.data(), buffer.size(), static_cast<off_t>(file.done()));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno("cannot read", path);
      if (n == 0) return;
      file.add({buffer.data(), static_cast<size_t>(n)});
    }
  }

 private:
  std::string folder_;
};

class WebSource final : public Source {
 public:
  WebSource(const std::string& address, const Settings& settings, Progress& progress)
      : Source(shown_url(address)),
        root_(address),
        http_({.retries = settings.retries, .agent = concat("hub/", settings.program_version)},
              progress) {}

  std::string read(std::string_view path, uint64_t limit) override {
    return http_.get(concat(root_, "/", path), limit);
  }

  void fetch(PrivateFile& file) override {
    http_.download(concat(root_, "/", blob_path(file.digest())), file);
  }

 private:
  std::string root_;
  Http http_;
};

/// Stands for a web registry while no socket may be opened.
class OfflineSource final : public Source {
 public:
  explicit OfflineSource(const std::string& address) : Source(shown_url(address)) {}

  std::string read(std::string_view, uint64_t) override { refuse(); }
  void fetch(PrivateFile&) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    fail(Code::network, "offline mode is on, so ", name(),
         " is not asked; leave offline mode and run the same command again");
  }
};

}  // namespace

std::unique_ptr<Source> open_source(const std::string& address, const Settings& settings,
                                    Progress& progress) {
  std::string root = address;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  const std::string scheme = lower_ascii(root.substr(0, root.find(':') + 1));
  if (scheme == "http:" || scheme == "https:") {
    if (settings.offline) return std::make_unique<OfflineSource>(root);
    return std::make_unique<WebSource>(root, settings, progress);
  }
  if (root.find("://") != root.npos && scheme != "file:") {
    fail(Code::usage, "'", printable(address),
         "' is not a registry: file:/folder, http:// or https:// is wanted");
  }
  std::string folder = scheme == "file:" ? root.substr(5) : root;
  if (folder.starts_with("///")) folder.erase(0, 2);
  if (folder.empty())
    fail(Code::usage, "a registry without a name: file:/folder, http:// or https:// is wanted");
  return std::make_unique<FolderSource>(address, folder);
}

}  // namespace hub
