// A sparse tensor is a tree: a level for each dimension, in an order of its own, dense or a list of
// the indices that are there. Blocks are further levels, each inside the dimension that it cuts.
#include "runtime/import/tflite_sparse.h"

#include <cstring>
#include <vector>

#include "base/error.h"

namespace hub {
namespace {

[[noreturn]] void damaged() { fail(Code::refused, "a sparse tensor does not fit together"); }

struct Level {
  FlatTable table;
  size_t dimension;
  bool dense;
  int64_t size;  ///< of the dimension, in blocks where it is cut

  /// Number i of a union of lists of 32, 16 or 8 bits, whose kind stands in `field`.
  int64_t listed(size_t field, size_t i) const {
    const auto kind = table.number<uint8_t>(field, 0);
    const auto list = table.table(field + 1);
    if (!list || kind < 1 || kind > 3) damaged();
    const FlatVector numbers = list->vector(0, kind == 1 ? 4 : kind == 2 ? 2 : 1);
    if (i >= numbers.size()) damaged();
    return kind == 1   ? numbers.number<int32_t>(i)
           : kind == 2 ? numbers.number<uint16_t>(i)
                       : numbers.number<uint8_t>(i);
  }
};

class Tree {
 public:
  Tree(const Spec& spec, const FlatTable& sparsity, std::string_view bytes)
      : bytes_(bytes) {
    const FlatVector order = sparsity.vector(0, 4), blocks = sparsity.vector(1, 4);
    const FlatVector levels = sparsity.vector(2, 4);
    const size_t rank = spec.shape.rank();
    if (order.size() != levels.size() || levels.size() != rank + blocks.size() || rank == 0 ||
        bytes.empty() || bytes_of(spec) == 0)
      damaged();
    for (size_t b = 0; b < blocks.size(); ++b) {
      const int32_t d = blocks.number<int32_t>(b);
      if (d < 0 || static_cast<size_t>(d) >= rank) damaged();
      cut_.push_back(static_cast<size_t>(d));
    }
    std::vector<int64_t> sizes(levels.size(), 0);
    for (size_t l = 0; l < levels.size(); ++l) {
      const FlatTable table = sparsity.element(levels, l);
      const auto d = static_cast<size_t>(order.number<int32_t>(l));
      if (d >= levels.size() || sizes[d] != 0) damaged();
      sizes[d] = table.number<int32_t>(1, 0);
      levels_.push_back({table, d, table.number<int8_t>(0, 0) == 0, 0});
      // Only blocks and dense dimensions say their size.
      if (!levels_.back().dense && d < rank) sizes[d] = -1;
      if (sizes[d] == 0) damaged();
    }
    for (size_t d = 0; d < rank; ++d) {
      int64_t block = 1;
      for (size_t b = 0; b < cut_.size(); ++b)
        if (cut_[b] == d && __builtin_mul_overflow(block, sizes[rank + b], &block)) damaged();
      if (block < 1 || spec.shape[d] % block != 0) damaged();
      if (sizes[d] >= 0 && sizes[d] != spec.shape[d] / block) damaged();
      sizes[d] = spec.shape[d] / block;
    }
    for (Level& level : levels_) level.size = sizes[level.dimension];
    sizes_ = std::move(sizes);
    at_.assign(levels_.size(), 0);
    dense_ = Tensor(spec.dtype, spec.shape);
    visits_ = static_cast<int64_t>(levels_.size()) * (dense_.numel() + 1);
    width_ = dense_.bytes() / static_cast<size_t>(dense_.numel());
  }

  Tensor filled() {
    std::memset(dense_.raw(), 0, dense_.bytes());
    walk(0, 0);
    if (next_ != bytes_.size()) damaged();
    return dense_;
  }

 private:
  /// `parent`: which of the places of the level above this is inside.
  void walk(size_t l, int64_t parent) {
    if (l == levels_.size()) return place();
    const Level& level = levels_[l];
    const int64_t first = level.dense ? 0 : level.listed(2, static_cast<size_t>(parent));
    const int64_t last =
        level.dense ? level.size : level.listed(2, static_cast<size_t>(parent) + 1);
    for (int64_t k = first; k < last; ++k) {
      if (--visits_ < 0) damaged();
      int64_t& at = at_[level.dimension];
      at = level.dense ? k : level.listed(4, static_cast<size_t>(k));
      if (at < 0 || at >= level.size) damaged();
      walk(l + 1, level.dense ? parent * level.size + k : k);
    }
  }

  void place() {
    const Shape& shape = dense_.shape();
    int64_t index = 0;
    for (size_t d = 0; d < shape.rank(); ++d) {
      int64_t i = at_[d];
      for (size_t b = 0; b < cut_.size(); ++b)
        if (cut_[b] == d) i = i * sizes_[shape.rank() + b] + at_[shape.rank() + b];
      index = index * shape[d] + i;
    }
    if (bytes_.size() - next_ < width_) damaged();
    std::memcpy(static_cast<char*>(dense_.raw()) + static_cast<size_t>(index) * width_,
                bytes_.data() + next_, width_);
    next_ += width_;
  }

  std::string_view bytes_;
  Tensor dense_;
  std::vector<Level> levels_;
  std::vector<size_t> cut_;  ///< the dimension that each block cuts
  std::vector<int64_t> sizes_, at_;
  int64_t visits_ = 0;
  size_t width_ = 0, next_ = 0;
};

}  // namespace

Tensor tflite_densified(const Spec& spec, const FlatTable& sparsity, std::string_view bytes) {
  return Tree(spec, sparsity, bytes).filled();
}

}  // namespace hub
