#include "runtime/pack.h"

#include <sys/stat.h>

#include <cstring>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace hub {
namespace {

// magic | header length u64 | header digest (64 hex) | header | padding | constants, each at a
// multiple of 64. header: build line | real inputs u64 | count u64 | { value u64, offset u64, bytes
// u64, layout length u64, layout }… | program bytes. In the program every constant is an input
// behind the real ones.
constexpr std::string_view magic = "HUBPACK2";

/// A pack belongs to the program file that made it: other builds choose other layouts.
std::string build_line(const Device& device) {
  struct stat st {};
  ::stat("/proc/self/exe", &st);
  return concat(device.kind(), " ", st.st_size, " ", st.st_mtim.tv_sec, ".", st.st_mtim.tv_nsec);
}

void put(std::string& s, uint64_t v) { s.append(reinterpret_cast<const char*>(&v), sizeof v); }
void put(std::string& s, std::string_view text) {
  put(s, text.size());
  s += text;
}

/// Reads what put() wrote; `ok` turns false at the first thing that does not fit.
struct Reader {
  std::string_view rest;
  bool ok = true;
  uint64_t number() {
    uint64_t v = 0;
    if (rest.size() < sizeof v) {
      ok = false;
      return 0;
    }
    std::memcpy(&v, rest.data(), sizeof v);
    rest.remove_prefix(sizeof v);
    return v;
  }
  std::string_view text() {
    const uint64_t n = number();
    if (n > rest.size()) {
      ok = false;
      return {};
    }
    const auto t = rest.substr(0, n);
    rest.remove_prefix(n);
    return t;
  }
};

uint64_t aligned(uint64_t at) { return (at + 63) / 64 * 64; }

}  // namespace

void save_pack(const std::string& path, const Program& program, const Device& device,
               const Packs& packs) {
  Program bare = program;
  struct Blob {
    const void* data;
    size_t bytes;
  };
  std::vector<Blob> blobs;
  std::string table;
  uint64_t offset = 0;
  const size_t real = bare.inputs.size();
  uint64_t count = 0;
  for (size_t i = 0; i < bare.values.size(); ++i) {
    Value& v = bare.values[i];
    if (!v.constant || !is_plain(v.constant.dtype())) continue;  // strings stay in the program
    // In the packed layout when that is the only one in use.
    const auto held = packs.of(v.constant);
    const Packs::Packed* packed = held.size() == 1 ? held[0] : nullptr;
    Blob blob{packed != nullptr ? packed->data : v.constant.raw(),
              layout_bytes(packed != nullptr ? packed->layout : nullptr, v.constant.spec())};
    put(table, i);
    put(table, offset);
    put(table, blob.bytes);
    put(table, packed != nullptr && packed->layout ? packed->layout->save() : std::string());
    offset = aligned(offset + blob.bytes);
    blobs.push_back(blob);
    v.declared = v.constant.spec();
    v.constant = {};
    bare.inputs.push_back(static_cast<ValueId>(i));
    ++count;
  }
  std::string header;
  put(header, build_line(device));
  put(header, real);
  put(header, count);
  header += table;
  put(header, to_bytes(bare));
  std::string bytes(magic);
  put(bytes, header.size());
  bytes += Sha256::of(header).hex();
  bytes += header;
  const uint64_t start = aligned(bytes.size());
  bytes.reserve(start + offset);
  for (const Blob& b : blobs) {
    bytes.resize(aligned(bytes.size()));
    bytes.append(static_cast<const char*>(b.data), b.bytes);
  }
  try {
    write_file(path, bytes);
  } catch (const Error& e) {
    if (e.code() != Code::storage && e.code() != Code::not_found) throw;
  }
}

std::optional<Program> load_pack(const std::string& path, Device& device, Packs& packs) {
  if (!exists(path)) return {};
  const MappedFile file = MappedFile::open(path);
  Reader r{file.text()};
  if (!r.rest.starts_with(magic)) return {};
  r.rest.remove_prefix(magic.size());
  const uint64_t length = r.number();
  if (!r.ok || r.rest.size() < 64 || length > r.rest.size() - 64) return {};
  const auto digest = r.rest.substr(0, 64);
  const auto header = r.rest.substr(64, length);
  const uint64_t start = aligned(magic.size() + sizeof(uint64_t) + 64 + length);
  if (Sha256::of(header).hex() != digest) return {};
  Reader h{header};
  if (h.text() != build_line(device)) return {};
  const uint64_t real = h.number();
  const uint64_t count = h.number();
  struct Entry {
    uint64_t value, offset, bytes;
    std::string_view layout;
  };
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count && h.ok; ++i) {
    Entry e{};
    e.value = h.number();
    e.offset = h.number();
    e.bytes = h.number();
    e.layout = h.text();
    entries.push_back(e);
  }
  const auto body = h.text();
  if (!h.ok) return {};
  Program program = program_from_bytes(body, file.owner());
  if (program.inputs.size() != real + count) return {};
  for (const Entry& e : entries) {
    if (e.value >= program.values.size() || start + e.offset + e.bytes > file.size()) return {};
    Value& v = program.values[e.value];
    if (!is_plain(v.declared.dtype)) return {};
    LayoutPtr layout;
    if (!e.layout.empty()) {
      layout = device.restore(e.layout);
      if (!layout) return {};
    }
    if (layout_bytes(layout, v.declared) != e.bytes) return {};
    v.constant = Tensor(v.declared.dtype, v.declared.shape, file.owner(),
                        file.bytes().data() + start + e.offset);
    v.declared = {};
    if (layout) packs.adopt(v.constant, layout, file.owner());
  }
  program.inputs.resize(real);
  return program;
}

}  // namespace hub
