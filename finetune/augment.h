// Random changes of pictures that keep what they show.
#pragma once

#include <string>

#include "finetune/random.h"
#include "modules/image.h"

namespace hub {

/// `how`: "flip" (left and right, every other time), "crop" (a part of 64 to 100 % of the area, its
/// sides within 3:4 and 4:3), by commas.
Image augmented(const Image& image, const std::string& how, Random random);

}  // namespace hub
