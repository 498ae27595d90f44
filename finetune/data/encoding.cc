// Text files in the encodings that people have, into UTF-8: strictly, nothing is ever replaced.
#include <iconv.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

constexpr std::string_view bom = "\xef\xbb\xbf";

/// The converter's own name of an encoding.
std::string iconv_name(const std::string& encoding) {
  return encoding == "latin-1" ? "ISO-8859-1" : encoding;
}

size_t line_of(std::string_view text, size_t offset) {
  return 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + offset, '\n'));
}

/// Converts all of `bytes`; returns the offset of the first bad byte, or npos.
size_t convert(std::string_view bytes, const std::string& encoding, std::string& out) {
  const iconv_t handle = ::iconv_open("UTF-8", iconv_name(encoding).c_str());
  if (handle == iconv_t(-1)) {
    fail(Code::unsupported, "this system cannot convert from ", encoding,
         "; save the file as UTF-8");
  }
  char* in = const_cast<char*>(bytes.data());  // iconv's signature; it is not written to
  size_t left = bytes.size(), bad = std::string::npos;
  char buffer[16384];
  while (left > 0) {
    char* to = buffer;
    size_t room = sizeof buffer;
    const size_t done = ::iconv(handle, &in, &left, &to, &room);
    out.append(buffer, sizeof buffer - room);
    if (done == size_t(-1) && errno != E2BIG) {
      bad = bytes.size() - left;
      break;
    }
  }
  ::iconv_close(handle);
  return bad;
}

/// What the file may be instead; a help, not a decision.
std::string hint(std::string_view bytes, const std::string& refused) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return "utf-16";
  if (bytes.substr(0, 4096).find('\0') != bytes.npos) return "utf-16le";
  for (const char* name : {"utf-8", "gbk", "gb18030", "big5", "shift_jis"}) {
    if (name == refused) continue;
    std::string ignored;
    const std::string_view head = bytes.substr(0, 1 << 20);
    const size_t bad = convert(head, name, ignored);
    const bool cut = head.size() < bytes.size() && bad + 4 > head.size();  // within a character
    if (bad == std::string::npos || cut) return name;
  }
  return "latin-1";
}

[[noreturn]] void refuse(const std::string& path, const std::string& encoding,
                         std::string_view bytes, size_t offset, size_t line) {
  fail(Code::refused, path, " is not ", encoding, ": the first bad byte is at offset ", offset,
       ", line ", line, "; say what it is with --encoding (", hint(bytes, encoding),
       " would be possible)");
}

}  // namespace

const std::vector<std::string>& encodings() {
  static const std::vector<std::string> names = {
      "utf-8",     "utf-16", "utf-16le", "utf-16be", "gbk",          "gb18030",     "big5",
      "shift_jis", "euc-jp", "euc-kr",   "latin-1",  "windows-1252", "windows-1251"};
  return names;
}

std::string read_text(const std::string& path, const std::string& encoding) {
  const auto& known = encodings();
  if (std::find(known.begin(), known.end(), encoding) == known.end()) {
    fail(Code::usage, "encoding '", printable(encoding), "' is not known; wanted ", one_of(known));
  }
  std::string text = read_file(path, max_data_file);
  if (encoding == "utf-8") {
    const size_t bad = first_invalid_utf8(text);
    if (bad != text.npos) refuse(path, encoding, text, bad, line_of(text, bad));
  } else {
    std::string converted;
    const size_t bad = convert(text, encoding, converted);
    if (bad != text.npos) refuse(path, encoding, text, bad, line_of(converted, converted.size()));
    text = std::move(converted);
  }
  if (text.starts_with(bom)) text.erase(0, bom.size());
  if (const size_t zero = text.find('\0'); zero != text.npos) {
    fail(Code::refused, path, ": a zero byte in line ", line_of(text, zero),
         "; text is wanted (for UTF-16 without byte order mark: --encoding utf-16le)");
  }
  return text;
}

}  // namespace hub
