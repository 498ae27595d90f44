// IDX, the format of MNIST and its kin (yann.lecun.com/exdb/mnist): gray pictures and their labels,
// gzipped or not.
#include <zlib.h>

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

constexpr uint64_t max_bytes = uint64_t{1} << 31;  // unpacked, of one file
constexpr uint32_t max_edge = 4096;

class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path), file_(::gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) fail(Code::not_found, "cannot open ", path);
  }
  ~IdxFile() { ::gzclose(file_); }
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  void read(void* to, size_t size) {
    if (::gzread(file_, to, static_cast<unsigned>(size)) != static_cast<int>(size)) {
      fail(Code::refused, path_, " is truncated or damaged");
    }
  }
  uint32_t number() {
    uint8_t b[4];
    read(b, 4);
    return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
  }
  /// Reads the magic number: unsigned bytes in so many dimensions.
  void expect(uint32_t dimensions) {
    const uint32_t magic = number();
    if (magic != (0x0800u | dimensions)) {
      fail(Code::refused, path_, " is not IDX of ", dimensions, "-dimensional bytes");
    }
  }
  void end() {
    uint8_t more;
    if (::gzread(file_, &more, 1) != 0) {
      fail(Code::refused, path_, " is damaged or holds more than it says");
    }
  }

 private:
  const std::string& path_;
  gzFile file_;
};

}  // namespace

Rows read_idx(const std::string& images, const std::string& labels) {
  IdxFile pictures(images), names(labels);
  pictures.expect(3);
  names.expect(1);
  const uint32_t count = pictures.number(), height = pictures.number(), width = pictures.number();
  if (const uint32_t other = names.number(); other != count) {
    fail(Code::refused, images, " has ", count, " pictures, ", labels, " has ", other, " labels");
  }
  if (height == 0 || width == 0 || height > max_edge || width > max_edge ||
      uint64_t{count} * height * width > max_bytes) {
    fail(Code::refused, images, ": ", count, " pictures of ", width, "x", height,
         " are outside the limits");
  }
  const std::string file = file_name(images);
  Rows out;
  for (uint32_t i = 0; i < count; ++i) {
    Row row;
    row.item.source = concat(file, ":", i);
    row.item.width = static_cast<int>(width);
    row.item.height = static_cast<int>(height);
    row.item.gray.resize(size_t{width} * height);
    pictures.read(row.item.gray.data(), row.item.gray.size());
    uint8_t label;
    names.read(&label, 1);
    row.labels = {std::to_string(label)};
    out.rows.push_back(std::move(row));
  }
  pictures.end();
  names.end();
  out.task = "image-classification";
  out.found = concat("IDX pictures (", file, ")");
  return out;
}

}  // namespace hub
