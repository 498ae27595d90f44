#include "cli/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"

namespace hub {
namespace {

constexpr size_t longest_line = size_t{256} << 20;

bool begins_journal(std::string_view line) {
  try {
    const json entry = parse_json(line);
    return entry.is_object() && entry.contains("journal");
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Journal::Journal(const std::string& path, const json& maker)
    : path_(path),
      fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666)) {
  if (fd_ < 0) fail_errno("cannot open the journal", path);
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      fail(Code::busy, "another process writes the journal ", path);
    read(maker);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Journal::~Journal() {
  ::fsync(fd_);
  ::close(fd_);
}

void Journal::read(const json& maker) {
  const json header = {{"journal", maker}};
  const MappedFile file = MappedFile::map(fd_, path_);
  std::string_view text = file.text();
  const auto whole = static_cast<int64_t>(text.rfind('\n') + 1);  // npos + 1 is 0
  if (!text.empty() && !json_line(header).starts_with(text) &&
      !begins_journal(text.substr(0, text.find('\n'))))
    fail(Code::refused, path_, " is not a journal of `hub run`; give the name of a new file");
  text = text.substr(0, static_cast<size_t>(whole));
  size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    within(concat(path_, ", line ", ++number), [&] {
      const json entry = parse_json(line, longest_line);
      if (number == 1) {
        if (entry != header)
          fail(Code::refused, "it holds results of ", entry["journal"].dump(), ", wanted ",
               maker.dump(), "; give the name of a new file");
        return;
      }
      if (!entry.is_object() || !entry.contains("input") || !entry["input"].is_string())
        fail(Code::refused, "this is not a result");
      const auto& input = entry["input"].get_ref<const std::string&>();
      if (entry.contains("error")) {
        done_.erase(input);
      } else {
        done_.insert(input);
      }
      if (entry.contains("file") && entry["file"].is_string()) files_.insert(entry["file"]);
    });
  }
  size_ = whole;
  if (file.size() != static_cast<size_t>(whole) && ::ftruncate(fd_, whole) != 0)
    fail_errno("cannot cut the unfinished line off", path_);
  if (whole == 0) add(json_line(header));
}

void Journal::add(const std::string& line) {
  for (size_t at = 0; at < line.size();) {
    const ssize_t n = ::write(fd_, line.data() + at, line.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int reason = n == 0 ? ENOSPC : errno;
      // Where this fails as well, the next run takes the half line away.
      [[maybe_unused]] const int cut = ::ftruncate(fd_, size_);
      errno = reason;
      fail_errno("cannot write the journal", path_);
    }
    at += static_cast<size_t>(n);
  }
  size_ += static_cast<int64_t>(line.size());
  if (const int64_t now = std::time(nullptr); now != synced_) {
    if (::fdatasync(fd_) != 0) fail_errno("cannot write the journal", path_);
    synced_ = now;
  }
}

}  // namespace hub
