#include "runtime/import/zip.h"

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

constexpr uint32_t local_header = 0x04034b50, central_header = 0x02014b50, end_record = 0x06054b50;
constexpr uint32_t end_record_64 = 0x06064b50, end_locator_64 = 0x07064b50;
constexpr uint64_t in_extra = 0xffffffff;  // the number stands in the 64-bit extra field
constexpr size_t end_size = 22, longest_comment = 65535;

class Reader {
 public:
  explicit Reader(const MappedFile& file) : bytes_(file.bytes()) {}

  std::map<std::string, std::span<const std::byte>, std::less<>> read() {
    find_directory();
    std::map<std::string, std::span<const std::byte>, std::less<>> members;
    for (uint64_t i = 0, at = directory_; i < count_; ++i) {
      const Member member = read_member(at);
      if (member.name.ends_with('/')) continue;
      if (!members.emplace(member.name, member.data).second)
        fail(Code::refused, "zip member '", printable(member.name), "' is there twice");
    }
    return members;
  }

 private:
  struct Member {
    std::string name;
    std::span<const std::byte> data;
  };

  std::span<const std::byte> part(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail(Code::refused, "zip archive: bytes ", at, " + ", size, " are past its end (",
           bytes_.size(), ")");
    return bytes_.subspan(at, size);
  }
  template <class T>
  T number(uint64_t at) const {
    T value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }

  void find_directory() {
    if (bytes_.size() < end_size) fail(Code::refused, "zip archive: it is too short");
    const size_t last = bytes_.size() - end_size;
    for (size_t at = last + 1; at-- > 0 && last - at <= longest_comment;) {
      if (number<uint32_t>(at) != end_record || number<uint16_t>(at + 20) != last - at) continue;
      count_ = number<uint16_t>(at + 10);
      directory_ = number<uint32_t>(at + 16);
      if (at >= 20 && number<uint32_t>(at - 20) == end_locator_64) {
        const auto record = number<uint64_t>(at - 12);
        if (number<uint32_t>(record) != end_record_64)
          fail(Code::refused, "zip archive: its 64-bit end record is missing");
        count_ = number<uint64_t>(record + 32);
        directory_ = number<uint64_t>(record + 48);
      }
      return;
    }
    fail(Code::refused, "zip archive: its directory is missing; the file is cut off");
  }

  /// Reads the directory entry at `at` and moves behind it.
  Member read_member(uint64_t& at) const {
    if (number<uint32_t>(at) != central_header)
      fail(Code::refused, "zip archive: no directory entry at byte ", at);
    const auto flags = number<uint16_t>(at + 8);
    const auto method = number<uint16_t>(at + 10);
    uint64_t packed = number<uint32_t>(at + 20), size = number<uint32_t>(at + 24),
             where = number<uint32_t>(at + 42);
    const auto name_size = number<uint16_t>(at + 28);
    const auto extra_size = number<uint16_t>(at + 30);
    const auto comment_size = number<uint16_t>(at + 32);
    const auto name_bytes = part(at + 46, name_size);
    Member member;
    member.name.assign(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    read_extra(at + 46 + name_size, extra_size, {&size, &packed, &where});
    at += 46 + uint64_t{name_size} + extra_size + comment_size;
    if ((flags & 1) != 0 || method != 0 || packed != size)
      fail(Code::unsupported, "zip member '", printable(member.name),
           "' is packed or encrypted (method ", method, "); only stored members can be mapped");
    if (number<uint32_t>(where) != local_header)
      fail(Code::refused, "zip member '", printable(member.name),
           "' is not where the directory says");
    const uint64_t data = where + 30 + number<uint16_t>(where + 26) + number<uint16_t>(where + 28);
    member.data = part(data, size);
    return member;
  }

  /// Replaces those of `numbers` that do not fit 32 bits by what the extra field says.
  void read_extra(uint64_t at, uint64_t size, const std::vector<uint64_t*>& numbers) const {
    part(at, size);
    for (const uint64_t end = at + size; at + 4 <= end;) {
      const auto id = number<uint16_t>(at);
      const uint64_t next = at + 4 + number<uint16_t>(at + 2);
      at += 4;
      for (uint64_t* n : numbers) {
        if (id != 1 || *n != in_extra) continue;
        *n = number<uint64_t>(at);
        at += 8;
      }
      at = next;
    }
  }

  std::span<const std::byte> bytes_;
  uint64_t count_ = 0, directory_ = 0;
};

}  // namespace

std::map<std::string, std::span<const std::byte>, std::less<>> read_stored_zip(
    const MappedFile& file) {
  return Reader(file).read();
}

}  // namespace hub
