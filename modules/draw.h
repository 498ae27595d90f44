// Drawing results into pictures: lines, boxes, words in a small built-in font.
#pragma once

#include <array>
#include <string_view>

#include "modules/image.h"

namespace hub {

using Colour = std::array<uint8_t, 3>;

/// A colour for the n-th kind of thing, easy to tell from its neighbours'.
Colour colour_of(size_t n);

/// What lies outside of the picture is left out, in all of these.
void draw_line(Image& image, double x0, double y0, double x1, double y1, Colour colour, int thick);
/// The same with soft edges and round ends: a disc where it is as long as a point.
void draw_stroke(Image& image, double x0, double y0, double x1, double y1, Colour colour,
                 double thick);
void draw_box(Image& image, double left, double top, double right, double bottom, Colour colour,
              int thick);
/// White words on a ground of `colour`, which stands on (left, bottom) or, where there is no room
/// above, below it. Letters are 7 * scale pixels high; what is not printable ASCII shows as '?'.
void draw_label(Image& image, double left, double bottom, std::string_view text, Colour colour,
                int scale);

}  // namespace hub
