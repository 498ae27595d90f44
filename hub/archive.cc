#include "hub/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hub/path_set.h"

namespace hub {
namespace {

constexpr size_t block = 1 << 16;
constexpr std::string_view xz_magic("\3757zXZ\0", 6);

/// While it lives, this thread's libarchive takes names as UTF-8 whatever the user's locale is.
class Utf8Names {
 public:
  Utf8Names() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t utf8_, before_ = nullptr;
};

struct Member {
  RelPath path;
  uint64_t size = 0;
  bool folder = false;
};

/// One pass through the archive. Only the format that the first bytes announce is switched on.
class Pass {
 public:
  explicit Pass(const std::string& name)
      : name_(name),
        file_{::open(name.c_str(), O_RDONLY | O_CLOEXEC)},
        owner_(::archive_read_new()),
        archive_(owner_.get()) {
    if (file_.fd < 0) fail_errno("cannot open", name);
    enable_format();
    check(::archive_read_open_fd(archive_, file_.fd, block));
  }

  /// The next member, its path judged by its own; false at the end.
  bool next(std::vector<Member>& members) {
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(archive_, &entry);
    if (status == ARCHIVE_EOF) return false;
    if (status != ARCHIVE_WARN) check(status);
    const char* raw = ::archive_entry_pathname(entry);
    if (raw == nullptr) fail(Code::refused, name_, ": a member's name is not UTF-8");
    std::string_view path = raw;
    const auto kind = ::archive_entry_filetype(entry);
    const bool folder = kind == AE_IFDIR;
    if (folder && path.ends_with('/')) path.remove_suffix(1);
    within(name_, [&] {
      Member member{RelPath::parse(path), 0, folder};
      const std::string shown = concat("'", path, "'");
      if (::archive_entry_hardlink(entry) != nullptr || ::archive_entry_symlink(entry) != nullptr) {
        fail(Code::refused, shown, " is a link; only files and folders are unpacked");
      }
      if (kind != AE_IFREG && !folder) {
        fail(Code::refused, shown,
             " is a device or special file; only files and folders are unpacked");
      }
      if (::archive_entry_is_encrypted(entry) != 0) fail(Code::refused, shown, " is encrypted");
      if (!folder) {
        if (::archive_entry_size_is_set(entry) == 0 || ::archive_entry_size(entry) < 0) {
          fail(Code::refused, shown, " declares no size");
        }
        member.size = static_cast<uint64_t>(::archive_entry_size(entry));
      }
      members.push_back(std::move(member));
    });
    return true;
  }

  size_t read(std::span<std::byte> buffer) {
    const auto n = ::archive_read_data(archive_, buffer.data(), buffer.size());
    if (n < 0) check(ARCHIVE_FATAL);
    return static_cast<size_t>(n);
  }

 private:
  void enable_format() {
    unsigned char magic[6] = {};
    const ssize_t got = ::pread(file_.fd, magic, sizeof magic, 0);
    if (got < 0) fail_errno("cannot read", name_);
    const std::string_view start(reinterpret_cast<const char*>(magic), static_cast<size_t>(got));
    if (start.starts_with("PK")) {
      // The seeking reader goes by the central directory, as every other unpacker of wheels does.
      check(::archive_read_support_format_zip_seekable(archive_));
      return;
    }
    check(::archive_read_support_format_tar(archive_));
    if (start.starts_with("\x1f\x8b")) {
      check(::archive_read_support_filter_gzip(archive_));
    } else if (start == xz_magic) {
      check(::archive_read_support_filter_xz(archive_));
    } else if (start.starts_with("\x28\xb5\x2f\xfd")) {
      check(::archive_read_support_filter_zstd(archive_));
    } else {
      fail(Code::refused, name_, " is not a zip, tar.gz, tar.xz or tar.zst archive");
    }
  }

  void check(int status) {
    if (status == ARCHIVE_OK) return;
    const char* why = ::archive_error_string(archive_);
    fail(Code::refused, name_,
         " is damaged: ", why == nullptr ? "it cannot be read to its end" : printable(why));
  }

  struct Fd {
    int fd;
    ~Fd() {
      if (fd >= 0) ::close(fd);
    }
  };
  struct Free {
    void operator()(::archive* a) const { ::archive_read_free(a); }
  };

  std::string name_;
  Fd file_;
  std::unique_ptr<::archive, Free> owner_;
  ::archive* archive_;
};

std::vector<Member> judge(const std::string& archive, const ArchiveLimits& limits) {
  Pass pass(archive);
  std::vector<Member> members;
  PathSet paths;
  uint64_t total = 0;
  while (pass.next(members)) {
    const Member& m = members.back();
    auto refuse = [&](const auto&... why) {
      fail(Code::refused, archive, ": '", m.path.str(), "' ", why...);
    };
    if (members.size() > limits.members) {
      fail(Code::refused, archive, " holds more than ", limits.members, " members");
    }
    if (split(m.path.str(), '/').size() > limits.depth) {
      refuse("is deeper than ", limits.depth, " folders");
    }
    if (m.folder) continue;
    within(archive, [&] { paths.add(m.path); });
    if (m.size > limits.member_bytes) {
      refuse("declares ", m.size, " bytes; at most ", limits.member_bytes, " are unpacked");
    }
    total += m.size;
    if (total > limits.total_bytes) {
      refuse("brings the archive to ", total, " bytes; at most ", limits.total_bytes,
             " are unpacked");
    }
  }
  if (std::all_of(members.begin(), members.end(), [](const Member& m) { return m.folder; })) {
    fail(Code::refused, archive, " holds no files");
  }
  return members;
}

/// Holds a member to the size it declared.
class Bounded final : public MemberReader {
 public:
  Bounded(Pass& pass, const std::string& archive, const Member& member)
      : pass_(pass), archive_(archive), member_(member) {}

  size_t read(std::span<std::byte> buffer) override {
    if (buffer.empty()) return 0;
    const size_t n = pass_.read(buffer);
    done_ += n;
    if (done_ > member_.size || (n == 0 && done_ != member_.size)) {
      fail(Code::refused, archive_, ": '", member_.path.str(), "' declares ", member_.size,
           " bytes and holds ", done_ > member_.size ? "more" : "fewer");
    }
    return n;
  }

 private:
  Pass& pass_;
  const std::string& archive_;
  const Member& member_;
  uint64_t done_ = 0;
};

}  // namespace

void read_archive(const std::string& archive, const ArchiveLimits& limits,
                  const MemberVisitor& visit) {
  const Utf8Names names;
  const std::vector<Member> judged = judge(archive, limits);
  Pass pass(archive);
  std::vector<Member> members;
  while (pass.next(members)) {
    const size_t i = members.size() - 1;
    const Member& m = members.back();
    const bool same = i < judged.size() && m.path == judged[i].path && m.size == judged[i].size &&
                      m.folder == judged[i].folder;
    if (!same) fail(Code::refused, archive, " changed while it was read");
    if (m.folder) continue;
    Bounded reader(pass, archive, m);
    visit(m.path, m.size, reader);
  }
}

}  // namespace hub
