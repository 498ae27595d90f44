// Matrix products with one operand packed into panels: a panel holds `width` columns of b, row
// after row, so that the innermost loop reads it in one stream. One thread does one product.
#pragma once

#include <cstdint>

namespace hub::onednn {

/// The width of the panels in which a matrix of n columns is kept on this processor.
int64_t panel_width(int64_t n);
/// Numbers that a packed matrix takes.
int64_t packed_size(int64_t k, int64_t n);

/// Packs b, whose element (r, c) lies at b[r * row + c * column]; and back.
void pack_panels(const float* b, int64_t k, int64_t n, int64_t row, int64_t column, float* packed);
void unpack_panels(const float* packed, int64_t k, int64_t n, int64_t row, int64_t column,
                   float* b);

/// c [m, n] = a [m, k] * b, or += when `add`; rows of a and c are lda and ldc numbers apart.
void gemm_panels(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* packed,
                 float* c, int64_t ldc, bool add);
/// The same for n columns out of more, whose panels are `width` wide; `packed` and c begin at the
/// first of them. `next` is the panel that will be read after these, when it is not the one behind
/// them.
void gemm_columns(int64_t width, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* packed, float* c, int64_t ldc, bool add,
                  const float* next = nullptr);

}  // namespace hub::onednn
