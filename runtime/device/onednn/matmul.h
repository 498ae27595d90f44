// Matrix products of described memory.
#pragma once

#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {

/// Float32 numbers that lie `strides` apart.
dnnl::memory::desc strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides);

struct Product {
  dnnl::matmul::primitive_desc pd;
  int sum = -1;  ///< the step that adds the residual
};
/// c = a * b; `bias` may be an empty description.
Product product(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                const dnnl::memory::desc& c, const dnnl::memory::desc& bias = {},
                const std::vector<Post>& posts = {});

}  // namespace hub::onednn
