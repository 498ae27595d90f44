// Pictures that a network makes: its numbers as pixels, and what the output says of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "modules/image.h"
#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// A part of a picture, in pixels.
struct Area {
  int left = 0, top = 0, width = 0, height = 0;
};

/// Where the numbers of a picture lie: steps from one to the next.
struct PictureNumbers {
  const float* first = nullptr;
  size_t column = 1, row = 0, channel = 0;
};
/// Planes [1, 3, height, width] or, with the channels last, [1, height, width, 3]; throws
/// Code::refused naming `module` when the network gave anything else.
PictureNumbers planes_of(const Tensor& numbers, int width, int height, const std::string& module);
PictureNumbers interleaved_of(const Tensor& numbers, int width, int height,
                              const std::string& module);

/// Writes numbers from 0 to 1 as the first three channels of `area` of `to`: cut off at both ends,
/// rounded. Throws Code::numeric naming the sample when one is not a number.
void put_numbers(const PictureNumbers& from, Image& to, const Area& area,
                 const std::string& sample);

/// {"width", "height", "colors", "detail"}: mean red, green and blue of the nine parts of a 3 by 3
/// grid, row by row, and how much neighbours in a row differ; in steps of 255.
json picture_output(const Image& image);

}  // namespace hub
