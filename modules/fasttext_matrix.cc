#include "modules/fasttext_matrix.h"

#include <vector>

namespace hub {
namespace {

constexpr int64_t codes = 256;

float at(std::string_view numbers, int64_t i) {
  float value;
  std::memcpy(&value, numbers.data() + static_cast<size_t>(i) * sizeof value, sizeof value);
  return value;
}

}  // namespace

CodeBook::CodeBook(FastTextReader& in, int64_t width) {
  const int64_t found = in.number<int32_t>();
  places_ = in.number<int32_t>();
  piece_ = in.number<int32_t>();
  last_ = in.number<int32_t>();
  if (found != width || places_ < 1 || places_ > width || piece_ < 1 || piece_ > width ||
      last_ < 1 || last_ > piece_ || (places_ - 1) * piece_ + last_ != width)
    fail(Code::refused, "a code book of ", places_, " pieces of ", piece_, " and ", last_,
         " numbers for ", found, ", wanted one for ", width);
  centroids_ = in.array(static_cast<uint64_t>(width * codes), sizeof(float));
}

void CodeBook::add(const uint8_t* chosen, float factor, std::span<float> to) const {
  for (int64_t place = 0; place < places_; ++place) {
    const int64_t size = place + 1 == places_ ? last_ : piece_;
    const int64_t from = place * codes * piece_ + chosen[place] * size;
    for (int64_t i = 0; i < size; ++i)
      to[static_cast<size_t>(place * piece_ + i)] += factor * at(centroids_, from + i);
  }
}

float CodeBook::number(uint8_t code) const { return at(centroids_, code); }

FastTextMatrix::FastTextMatrix(FastTextReader& in, bool quantised) : quantised_(quantised) {
  if (quantised) scaled_ = in.truth();
  rows_ = in.number<int64_t>();
  columns_ = in.number<int64_t>();
  constexpr int64_t most = int64_t{1} << 31, widest = 1 << 16;
  if (rows_ < 0 || rows_ > most || columns_ < 1 || columns_ > widest)
    fail(Code::refused, "a matrix of ", rows_, " rows and ", columns_, " columns");
  const auto rows = static_cast<uint64_t>(rows_);
  if (!quantised) {
    numbers_ = in.array(rows * static_cast<uint64_t>(columns_), sizeof(float));
    return;
  }
  const int64_t size = in.number<int32_t>();
  if (size < 0) fail(Code::refused, "a matrix of ", size, " codes");
  numbers_ = in.take(static_cast<uint64_t>(size));
  book_ = CodeBook(in, columns_);
  if (size != rows_ * book_.places())
    fail(Code::refused, "a matrix of ", rows_, " rows with ", size, " codes, wanted ",
         book_.places(), " a row");
  if (!scaled_) return;
  scales_ = in.take(rows);
  scale_book_ = CodeBook(in, 1);
}

void FastTextMatrix::add_row(int64_t row, std::span<float> to) const {
  if (!quantised_) {
    for (int64_t i = 0; i < columns_; ++i)
      to[static_cast<size_t>(i)] += at(numbers_, row * columns_ + i);
    return;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(numbers_.data());
  const float factor =
      scaled_ ? scale_book_.number(static_cast<uint8_t>(scales_[static_cast<size_t>(row)])) : 1;
  book_.add(bytes + row * book_.places(), factor, to);
}

float FastTextMatrix::dot_row(int64_t row, std::span<const float> with) const {
  std::vector<float> values(static_cast<size_t>(columns_));
  add_row(row, values);
  float sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * with[i];
  return sum;
}

}  // namespace hub
