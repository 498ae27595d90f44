// Archives for tests, well formed and otherwise, written by libarchive.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace hub {

struct TestMember {
  std::string path, bytes = {};
  unsigned kind = AE_IFREG;
  std::string link = {};       ///< target of a symbolic link
  std::string hard_link = {};  ///< target of a hard link
};

enum class TestArchive { zip, tar_gz, tar_xz, tar_zst, tar, cpio, seven_zip };

inline void make_archive(const std::string& file, TestArchive kind,
                         const std::vector<TestMember>& members) {
  ::archive* a = ::archive_write_new();
  switch (kind) {
    case TestArchive::zip: ::archive_write_set_format_zip(a); break;
    case TestArchive::cpio: ::archive_write_set_format_cpio_newc(a); break;
    case TestArchive::seven_zip: ::archive_write_set_format_7zip(a); break;
    default: ::archive_write_set_format_pax_restricted(a);
  }
  if (kind == TestArchive::tar_gz || kind == TestArchive::cpio) ::archive_write_add_filter_gzip(a);
  if (kind == TestArchive::tar_xz) ::archive_write_add_filter_xz(a);
  if (kind == TestArchive::tar_zst) ::archive_write_add_filter_zstd(a);
  ::archive_write_set_bytes_in_last_block(a, 1);
  bool good = ::archive_write_open_filename(a, file.c_str()) == ARCHIVE_OK;
  for (const TestMember& m : members) {
    ::archive_entry* e = ::archive_entry_new();
    ::archive_entry_set_pathname(e, m.path.c_str());
    ::archive_entry_set_filetype(e, m.kind);
    ::archive_entry_set_perm(e, 04777);
    if (m.kind == AE_IFREG) ::archive_entry_set_size(e, static_cast<la_int64_t>(m.bytes.size()));
    if (!m.link.empty()) ::archive_entry_set_symlink(e, m.link.c_str());
    if (!m.hard_link.empty()) ::archive_entry_set_hardlink(e, m.hard_link.c_str());
    good = good && ::archive_write_header(a, e) >= ARCHIVE_WARN;
    if (!m.bytes.empty()) {
      const auto size = static_cast<la_ssize_t>(m.bytes.size());
      good = good && ::archive_write_data(a, m.bytes.data(), m.bytes.size()) == size;
    }
    ::archive_entry_free(e);
  }
  const std::string why =
      good ? "" : std::string(::archive_error_string(a) ? ::archive_error_string(a) : "?");
  good = ::archive_write_close(a) == ARCHIVE_OK && good;
  ::archive_write_free(a);
  if (!good) throw std::runtime_error("cannot make " + file + ": " + why);
}

}  // namespace hub
