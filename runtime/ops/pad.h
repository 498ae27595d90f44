// Where the elements of a padded tensor come from; for the reference kernel and those of devices.
#pragma once

#include <array>
#include <vector>

#include "runtime/attrs.h"
#include "runtime/tensor.h"

namespace hub {

/// For each dimension and position of the result: the offset in x that it is read at, all
/// dimensions added up, or -1 for the constant.
using PadOffsets = std::array<std::vector<int64_t>, Shape::max_rank>;

/// `pads` and `axes` (null: all) as the operator has them; throws Code::refused as it does.
PadOffsets pad_offsets(const Attrs& attrs, const Shape& from, const Shape& to,
                       const std::vector<int64_t>& pads, const std::vector<int64_t>* axes);

}  // namespace hub
