// FlatBuffers read in place, every offset checked: tables of numbered fields, vectors, strings.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace hub {

/// A vector of the file; elements are numbers, offsets or bytes. A missing one is empty.
class FlatVector {
 public:
  FlatVector() = default;
  FlatVector(std::string_view file, size_t at, size_t count)
      : file_(file), at_(at), count_(count) {}
  size_t size() const { return count_; }
  template <class T>
  T number(size_t i) const {
    T value;
    std::memcpy(&value, file_.data() + at_ + i * sizeof(T), sizeof(T));
    return value;
  }
  std::string_view bytes() const { return file_.substr(at_, count_); }
  /// Where element i, an offset, stands.
  size_t place(size_t i) const { return at_ + i * sizeof(uint32_t); }

 private:
  std::string_view file_;
  size_t at_ = 0, count_ = 0;
};

/// Field k of the schema is number k. Throws Code::refused for what lies outside of the file.
class FlatTable {
 public:
  /// The table to which the offset at `place` leads; 0: that of the whole file.
  FlatTable(std::string_view file, size_t place) : file_(file), at_(follow(place)) {
    const int64_t behind = static_cast<int64_t>(at_) - read<int32_t>(at_);
    if (behind < 0) outside(at_);
    fields_ = static_cast<size_t>(behind);
    count_ = read<uint16_t>(fields_) / 2U;
  }

  template <class T>
  T number(size_t field, T fallback) const {
    const size_t at = place(field);
    return at == 0 ? fallback : read<T>(at);
  }
  bool has(size_t field) const { return place(field) != 0; }
  std::optional<FlatTable> table(size_t field) const {
    const size_t at = place(field);
    if (at == 0) return {};
    return FlatTable(file_, at);
  }
  /// `size` is that of an element.
  FlatVector vector(size_t field, size_t size) const {
    const size_t at = place(field);
    if (at == 0) return {};
    const size_t start = follow(at);
    const size_t count = read<uint32_t>(start);
    if (count > (file_.size() - start - 4) / size) outside(start);
    return {file_, start + 4, count};
  }
  std::string_view text(size_t field) const { return vector(field, 1).bytes(); }
  FlatTable element(const FlatVector& tables, size_t i) const { return {file_, tables.place(i)}; }

 private:
  template <class T>
  T read(size_t at) const {
    if (at > file_.size() || file_.size() - at < sizeof(T)) outside(at);
    T value;
    std::memcpy(&value, file_.data() + at, sizeof(T));
    return value;
  }
  size_t follow(size_t at) const { return at + read<uint32_t>(at); }
  size_t place(size_t field) const {
    if (field + 2 >= count_) return 0;
    const auto offset = read<uint16_t>(fields_ + 4 + field * 2);
    return offset == 0 ? 0 : at_ + offset;
  }
  [[noreturn]] void outside(size_t at) const {
    fail(Code::refused, "damaged: offset ", at, " leads out of its ", file_.size(), " bytes");
  }

  std::string_view file_;
  size_t at_, fields_ = 0, count_ = 0;
};

}  // namespace hub
