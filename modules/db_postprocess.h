// Differentiable binarisation: from a map of text probabilities to text boxes.
#pragma once

#include <span>
#include <vector>

#include "modules/geometry.h"

namespace hub {

struct DbOptions {
  double threshold = 0.3;  ///< of a pixel to be text
  double box_score = 0.5;  ///< least mean probability inside a box
  double unclip = 1.6;     ///< a box grows by area * unclip / perimeter
};

/// The text boxes of a map [height, width], in whole pixels of a picture of `image_width` x
/// `image_height` that the map stands for, each as ordered() gives them, in reading order: top to
/// bottom, and left to right within 10 pixels.
std::vector<Quad> text_boxes(std::span<const float> map, int width, int height, int image_width,
                             int image_height, const DbOptions& options);

/// The outlines of a bitmap [height, width], enough points of each for its convex hull: of every
/// component of set pixels (8-connected) and of every hole (4-connected; its outline is the set
/// pixels around it). Last in raster order first.
std::vector<Polygon> outlines(std::span<const uint8_t> bitmap, int width, int height);

}  // namespace hub
