// The matrices of a fastText file: rows of numbers, or rows put together from pieces of a code book
// (product quantisation). Also how such files are read: bounded, a field after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"

namespace hub {

/// Fields one after the other; what is cut off is refused.
class FastTextReader {
 public:
  explicit FastTextReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  bool truth() { return number<uint8_t>() != 0; }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) fail(Code::refused, "it is cut off at byte ", bytes_.size());
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }
  /// `count` numbers of `size` bytes each.
  std::string_view array(uint64_t count, size_t size) {
    if (count > bytes_.size()) fail(Code::refused, "it is cut off at byte ", bytes_.size());
    return take(count * size);
  }
  /// Up to a zero byte, which is passed over.
  std::string_view text() {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) fail(Code::refused, "a word without an end");
    const std::string_view word = take(end - at_);
    ++at_;
    return word;
  }
  size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// Pieces of vectors, 256 to choose from for each place.
class CodeBook {
 public:
  CodeBook() = default;
  /// Of vectors of `width` numbers.
  CodeBook(FastTextReader& in, int64_t width);
  int64_t places() const { return places_; }
  /// Adds `factor` times the vector with these codes, one a place.
  void add(const uint8_t* codes, float factor, std::span<float> to) const;
  float number(uint8_t code) const;  ///< of vectors of one number

 private:
  int64_t places_ = 0, piece_ = 0, last_ = 0;  ///< the last place has a shorter piece
  std::string_view centroids_;
};

class FastTextMatrix {
 public:
  FastTextMatrix() = default;
  /// Views the bytes that `in` reads.
  FastTextMatrix(FastTextReader& in, bool quantised);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  /// Adds a row to `to`.
  void add_row(int64_t row, std::span<float> to) const;
  float dot_row(int64_t row, std::span<const float> with) const;

 private:
  int64_t rows_ = 0, columns_ = 0;
  bool quantised_ = false, scaled_ = false;
  std::string_view numbers_;  ///< float32, or one code a place
  CodeBook book_, scale_book_;
  std::string_view scales_;
};

}  // namespace hub
