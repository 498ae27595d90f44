// Concatenation, and its inverses split and slice. Where the dimensions before the axis are 1 the
// parts lie one behind the other, so that they can be written, and read, where they are in the
// whole.
#include <algorithm>
#include <cstring>

#include "runtime/device/onednn/onednn.h"
#include "runtime/ops/kernel.h"

namespace hub::onednn {
namespace {

size_t axis_in(const OpCall& call, int64_t fallback, const Shape& shape) {
  const int64_t axis = call.attrs.i("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.rank()) : axis);
}

/// Channels of images in blocks: whole blocks move when every part is a number of them.
bool whole_blocks(const Shape& shape, size_t axis) {
  return axis == 1 && shape.rank() >= 3 && shape.rank() <= 5 && shape[1] % channel_block() == 0;
}

/// Bytes of `spec` from dimension `axis` on.
size_t row_bytes(const Spec& spec, size_t axis) {
  return static_cast<size_t>(spec.shape.numel(axis, spec.shape.rank())) * size_of(spec.dtype);
}

/// Whether operands may begin there: kernels want their vectors whole.
bool aligned(const std::vector<size_t>& offsets) {
  return std::all_of(offsets.begin(), offsets.end(), [](size_t at) { return at % 64 == 0; });
}

/// The bytes of one part, and where it begins in a row of the whole.
struct Piece {
  size_t at = 0, bytes = 0;
};

/// f(row, piece) for every piece of each row, over the team where there is much to copy.
template <class F>
void each_piece(const std::vector<Piece>& pieces, size_t row, size_t rows, F f) {
  constexpr size_t worth = size_t{1} << 16;  // bytes a thread
  const size_t count = pieces.size();
  parallel(static_cast<int64_t>(rows * count), static_cast<int64_t>(worth * count / row + 1),
           [&](int64_t from, int64_t to) {
             for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
               f(i / count, i % count);
           });
}

/// Each part out of the rows of the whole.
std::function<Step(const Places&)> take_pieces(std::vector<Piece> pieces, size_t row, size_t rows) {
  return [=](const Places& places) -> Step {
    return
        [pieces, row, rows, from = static_cast<const std::byte*>(places.in[0]), to = places.out] {
          each_piece(pieces, row, rows, [&](size_t r, size_t k) {
            const auto [at, bytes] = pieces[k];
            if (to[k] != nullptr)
              std::memcpy(static_cast<std::byte*>(to[k]) + r * bytes, from + r * row + at, bytes);
          });
        };
  };
}

/// Parts of input 0 along `axis`, part k beginning at starts[k].
Prepared take(const Operand& whole, size_t axis, const std::vector<int64_t>& starts,
              std::span<const Spec> out, size_t operands) {
  bool blocked = is_image_layout(whole.spec.shape, whole.layout) &&
                 whole_blocks(whole.spec.shape, axis) && whole.spec.dtype == DType::f32;
  for (const Spec& s : out)
    blocked = blocked && (s.dtype == DType::none || whole_blocks(s.shape, axis));
  Spec one = whole.spec;  // one step along the axis
  one.shape[axis] = 1;
  std::vector<Piece> pieces;
  std::vector<size_t> offsets;
  Prepared p;
  for (size_t k = 0; k < out.size(); ++k) {
    const bool wanted = out[k].dtype != DType::none;
    pieces.push_back({static_cast<size_t>(starts[k]) * row_bytes(one, axis),
                      wanted ? row_bytes(out[k], axis) : 0});
    offsets.push_back(pieces.back().at);
    p.out.push_back(blocked && wanted ? image_layout(out[k].shape) : nullptr);
  }
  p.in.assign(operands, nullptr);
  if (blocked) p.in[0] = whole.layout;
  const auto rows = static_cast<size_t>(whole.spec.shape.numel(0, axis));
  if (rows == 1 && aligned(offsets)) p.parts = std::move(offsets);
  p.how = "copy";
  p.bind = take_pieces(std::move(pieces), row_bytes(whole.spec, axis), rows);
  return p;
}

}  // namespace

std::optional<Prepared> prepare_concat(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  const Shape& y = out[0].shape;
  if (!is_plain(out[0].dtype)) return {};
  const size_t axis = axis_in(call, 0, y);
  bool blocked = out[0].dtype == DType::f32;
  bool any_blocked = false;
  for (const Operand& o : in) {
    blocked = blocked && whole_blocks(o.spec.shape, axis);
    any_blocked = any_blocked || is_image_layout(o.spec.shape, o.layout);
  }
  blocked = blocked && any_blocked;
  std::vector<Piece> pieces;
  std::vector<size_t> offsets;
  size_t row = 0;
  Prepared p;
  for (const Operand& o : in) {
    pieces.push_back({row, row_bytes(o.spec, axis)});
    offsets.push_back(row);
    row += pieces.back().bytes;
    p.in.push_back(blocked ? image_layout(o.spec.shape) : nullptr);
  }
  const auto rows = static_cast<size_t>(y.numel(0, axis));
  p.out = {blocked ? image_layout(y) : nullptr};
  p.how = "copy";
  if (rows == 1 && aligned(offsets)) p.joined = std::move(offsets);
  p.bind = [=](const Places& places) -> Step {
    return [pieces, row, rows, from = places.in, to = static_cast<std::byte*>(places.out[0])] {
      each_piece(pieces, row, rows, [&](size_t r, size_t i) {
        const auto [at, bytes] = pieces[i];
        std::byte* write = to + r * row + at;
        if (from[i] != write)
          std::memcpy(write, static_cast<const std::byte*>(from[i]) + r * bytes, bytes);
      });
    };
  };
  return p;
}

std::optional<Prepared> prepare_split(const OpCall& call, std::span<const Operand> in,
                                      std::span<const Spec> out) {
  if (!is_plain(in[0].spec.dtype)) return {};
  const size_t axis = axis_in(call, 0, in[0].spec.shape);
  std::vector<int64_t> sizes;
  if (in.size() > 1 && in[1].constant != nullptr) sizes = in[1].constant->to_ints();
  const int64_t length = in[0].spec.shape[axis];
  const int64_t count = call.attrs.i("count", 1);
  std::vector<int64_t> starts;
  int64_t at = 0;
  for (size_t k = 0; k < out.size(); ++k) {
    starts.push_back(at);
    // Of a part that nobody wants the shape is not said.
    const bool wanted = out[k].dtype != DType::none;
    const int64_t size = k < sizes.size() ? sizes[k] : (length + count - 1) / count;
    if (!wanted && size < 0) return {};
    at += wanted ? out[k].shape[axis] : size;
  }
  return take(in[0], axis, starts, out, in.size());
}

std::optional<Prepared> prepare_slice(const OpCall&, std::span<const Operand> in,
                                      std::span<const Spec> out) {
  const Shape& x = in[0].spec.shape;
  const Shape& y = out[0].shape;
  if (!is_plain(in[0].spec.dtype)) return {};
  const auto list = [&](size_t i) -> std::vector<int64_t> {
    return i < in.size() && in[i].constant != nullptr ? in[i].constant->to_ints()
                                                      : std::vector<int64_t>{};
  };
  const auto starts = list(1);
  auto axes = list(3);
  const auto steps = list(4);
  const bool known =
      in[1].constant != nullptr && (in.size() < 4 || !in[3].present || !axes.empty());
  if (!known || std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; }) ||
      (in.size() > 4 && in[4].present && steps.empty()))
    return {};
  for (size_t i = axes.size(); i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  // Dimensions that stay whole begin at 0; one may be cut.
  const auto rank = static_cast<int64_t>(x.rank());
  std::optional<size_t> cut;
  int64_t start = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    if (x[d] == y[d]) continue;
    if (cut) return {};
    cut = d;
    start = std::clamp<int64_t>(starts[i] < 0 ? starts[i] + x[d] : starts[i], 0, x[d]);
  }
  return take(in[0], cut.value_or(0), {start}, out, in.size());
}

}  // namespace hub::onednn
