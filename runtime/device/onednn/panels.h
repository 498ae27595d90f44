// Layouts of constants that our own products read: matrices in panels (kernels_gemm.h).
#pragma once

#include <vector>

#include "runtime/device/device.h"

namespace hub::onednn {

/// A layout that we make and read ourselves, from and to the plain one.
class Packing : public Layout {
 public:
  virtual void pack(const float* plain, float* packed) const = 0;
  virtual void unpack(const float* packed, float* plain) const = 0;
  bool same(const Layout& other) const override;
  /// From the bytes of save(); null when they are none of these, or of another processor.
  static LayoutPtr restore(std::string_view saved);
};

/// A constant as `pieces.size()` matrices [k, n], each packed. Element (r, c) of piece p is number
/// start + r * row + c * column of the plain value.
class Panels final : public Packing {
 public:
  struct Piece {
    int64_t start, row, column;
  };
  Panels(int64_t k, int64_t n, std::vector<Piece> pieces);
  size_t bytes() const override;
  std::string save() const override;
  void pack(const float* plain, float* packed) const override;
  void unpack(const float* packed, float* plain) const override;
  /// Numbers from one piece to the next.
  int64_t piece_size() const { return piece_; }

 private:
  int64_t k_, n_, piece_;
  std::vector<Piece> pieces_;
};

/// Weights [out, in, 3, 3] of a convolution, transformed (kernels_winograd.h): 36 packed matrices
/// [in, out], both rounded up to whole blocks of channels with zeros.
class WinogradWeights final : public Packing {
 public:
  WinogradWeights(int64_t in, int64_t out, int64_t block);
  size_t bytes() const override { return panels_.bytes(); }
  std::string save() const override;
  void pack(const float* plain, float* packed) const override;
  void unpack(const float* packed, float* plain) const override;
  int64_t piece_size() const { return panels_.piece_size(); }

 private:
  int64_t in_, out_, block_;
  Panels panels_;
};

}  // namespace hub::onednn
