// A convolution whose window is moved element by element, in operators.
#pragma once

#include "runtime/op.h"

namespace hub {

/// x [N, C, H, W]; w [out, C / group, kh, kw]; offset [N, offset_group * kh * kw * 2 (down, right),
/// oh, ow]; bias [out] and mask [N, offset_group * kh * kw, oh, ow] may be absent. `attrs`:
/// strides, pads, dilations, offset_group. `kernel` is kh, kw.
Var deform_conv(Var x, Var w, Var offset, Var bias, Var mask, Attrs attrs,
                const std::vector<int64_t>& kernel, int64_t group);

}  // namespace hub
