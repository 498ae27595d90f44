#include "runtime/import/hdf5_chunks.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace hub::hdf5 {

Bytes Source::part(uint64_t address, uint64_t size) const {
  if (address > file_.size() || size > file_.size() - address)
    fail(Code::refused, "it is damaged: ", size, " bytes at ", address, " lie behind its end");
  return file_.subspan(address, size);
}

Bytes Source::take(uint64_t address, uint64_t size) {
  const Bytes bytes = part(address, size);
  taken_ += size;
  if (taken_ > file_.size())
    fail(Code::refused, "it and those before it take more bytes than the file has");
  return bytes;
}

void Source::want(uint64_t address, std::string_view mark) const {
  const Bytes found = part(address, mark.size());
  if (std::memcmp(found.data(), mark.data(), mark.size()) != 0)
    fail(Code::refused, "it is damaged: no '", mark, "' at byte ", address);
}

void Source::once(uint64_t address) {
  if (!seen_.insert(address).second)
    fail(Code::refused, "two ways lead to byte ", address, "; hard links are not followed");
}

void Source::leaves(uint64_t root, uint8_t kind, size_t key_size,
                    const std::function<void(Bytes, uint64_t)>& f) {
  node(root, kind, key_size, -1, f);
}

void Source::node(uint64_t address, uint8_t kind, size_t key_size, int level,
                  const std::function<void(Bytes, uint64_t)>& f) {
  once(address);
  want(address, "TREE");
  const int own = at<uint8_t>(address + 5);
  if (at<uint8_t>(address + 4) != kind || (level >= 0 && own != level))
    fail(Code::refused, "it is damaged: the tree at byte ", address, " is of another kind");
  const size_t children = at<uint16_t>(address + 6), each = key_size + 8;
  const Bytes entries = part(address + 24, children * each);
  for (size_t i = 0; i < children; ++i) {
    const Bytes entry = entries.subspan(i * each, each);
    const auto child = number<uint64_t>(entry, key_size);
    if (own == 0) {
      f(entry.first(key_size), child);
    } else {
      node(child, kind, key_size, own - 1, f);
    }
  }
}

namespace {

struct Packing {
  bool shuffled = false, deflated = false;
};

Packing read_packing(Bytes filters) {
  Packing packing;
  if (filters.empty()) return packing;
  const auto version = number<uint8_t>(filters, 0);
  if (version != 1 && version != 2)
    fail(Code::unsupported, "its filters have version ", int{version});
  const size_t count = number<uint8_t>(filters, 1);
  size_t at = version == 1 ? 8 : 2;
  for (size_t i = 0; i < count; ++i) {
    const auto id = number<uint16_t>(filters, at);
    if ((id != 1 && id != 2) || packing.deflated || (id == 2 && packing.shuffled))
      fail(Code::unsupported, "it is packed with filter ", id,
           "; a shuffle and then deflate are what can be read");
    (id == 1 ? packing.deflated : packing.shuffled) = true;
    const bool named = version == 1;
    const size_t name = named ? number<uint16_t>(filters, at + 2) : 0;
    const size_t values = number<uint16_t>(filters, at + (named ? 6 : 4));
    at += (named ? 8 : 6) + (name + 7) / 8 * 8 + 4 * (values + (named ? values % 2 : 0));
  }
  return packing;
}

struct Chunk {
  std::vector<int64_t> begin;  ///< its first element
  Bytes stored;
};

/// The chunks of one data set and where they go.
class Chunks {
 public:
  Chunks(Source& source, Bytes layout, Bytes filters, const Spec& spec)
      : spec_(spec), rank_(spec.shape.rank()), size_(size_of(spec.dtype)) {
    packing_ = read_packing(filters);
    if (rank_ == 0 || number<uint8_t>(layout, 2) != rank_ + 1)
      fail(Code::refused, "its chunks have other dimensions than it has");
    bytes_ = size_;
    wanted_ = 1;
    for (size_t d = 0; d < rank_; ++d) {
      const auto side = number<uint32_t>(layout, 11 + 4 * d);
      if (side == 0 || __builtin_mul_overflow(bytes_, uint64_t{side}, &bytes_))
        fail(Code::refused, "its chunks have no size");
      sides_.push_back(side);
      wanted_ *= static_cast<uint64_t>((spec.shape[d] + side - 1) / side);
    }
    if (number<uint32_t>(layout, 11 + 4 * rank_) != size_)
      fail(Code::refused, "the numbers of its chunks have another size than its type");
    const auto root = number<uint64_t>(layout, 3);
    if (root == nowhere) fail(Code::refused, "its numbers were never written");
    source.leaves(root, 1, 8 + 8 * (rank_ + 1),
                  [&](Bytes key, uint64_t at) { add(source, key, at); });
    if (chunks_.size() != wanted_)
      fail(Code::refused, "it has ", chunks_.size(), " chunks of ", wanted_);
  }

  Tensor read() const {
    Tensor tensor(spec_.dtype, spec_.shape);
    std::vector<std::byte> plain, moved;
    for (const Chunk& chunk : chunks_) {
      Bytes bytes = chunk.stored;
      if (packing_.deflated) {
        plain.resize(bytes_);
        uLongf length = plain.size();
        const int state = ::uncompress(reinterpret_cast<Bytef*>(plain.data()), &length,
                                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
        if (state != Z_OK || length != bytes_) fail(Code::refused, "a chunk of it is damaged");
        bytes = plain;
      }
      if (packing_.shuffled) {
        moved.resize(bytes_);
        const size_t count = bytes_ / size_;
        for (size_t b = 0; b < size_; ++b)
          for (size_t i = 0; i < count; ++i) moved[i * size_ + b] = bytes[b * count + i];
        bytes = moved;
      }
      place(chunk, bytes, tensor);
    }
    return tensor;
  }

 private:
  void add(Source& source, Bytes key, uint64_t at) {
    const auto stored = number<uint32_t>(key, 0);
    if (number<uint32_t>(key, 4) != 0)
      fail(Code::unsupported, "a chunk of it is packed in another way than the rest");
    // Deflate makes at most 1032 bytes of one.
    if (packing_.deflated ? bytes_ > 1032 * (uint64_t{stored} + 1) : bytes_ != stored)
      fail(Code::refused, "a chunk of ", bytes_, " bytes is stored in ", stored);
    source.once(at);
    Chunk chunk{{}, source.take(at, stored)};
    for (size_t d = 0; d < rank_; ++d) {
      const auto begin = number<uint64_t>(key, 8 + 8 * d);
      if (begin >= static_cast<uint64_t>(spec_.shape[d]) || begin % sides_[d] != 0)
        fail(Code::refused, "a chunk of it begins at ", begin, " of ", spec_.shape[d]);
      chunk.begin.push_back(static_cast<int64_t>(begin));
    }
    if (!begins_.insert(chunk.begin).second) fail(Code::refused, "a chunk of it is there twice");
    chunks_.push_back(std::move(chunk));
  }

  /// Copies the rows of a chunk that lie inside of the data set.
  void place(const Chunk& chunk, Bytes bytes, Tensor& tensor) const {
    const Shape& shape = spec_.shape;
    const size_t last = rank_ - 1;
    const auto inside = [&](size_t d) {
      return std::min<int64_t>(sides_[d], shape[d] - chunk.begin[d]);
    };
    std::vector<int64_t> at(rank_);  // within the chunk
    for (;;) {
      int64_t from = 0, to = 0;
      for (size_t d = 0; d < rank_; ++d) {
        from = from * sides_[d] + at[d];
        to = to * shape[d] + chunk.begin[d] + at[d];
      }
      std::memcpy(static_cast<std::byte*>(tensor.raw()) + static_cast<size_t>(to) * size_,
                  bytes.data() + static_cast<size_t>(from) * size_,
                  static_cast<size_t>(inside(last)) * size_);
      size_t d = last;
      while (d-- > 0 && ++at[d] == inside(d)) at[d] = 0;
      if (d == static_cast<size_t>(-1)) return;
    }
  }

  const Spec& spec_;
  size_t rank_, size_;
  Packing packing_;
  uint64_t bytes_ = 0, wanted_ = 0;
  std::vector<uint32_t> sides_;
  std::set<std::vector<int64_t>> begins_;
  std::vector<Chunk> chunks_;
};

}  // namespace

Tensor read_chunks(Source& source, Bytes layout, Bytes filters, const Spec& spec) {
  return Chunks(source, layout, filters, spec).read();
}

}  // namespace hub::hdf5
