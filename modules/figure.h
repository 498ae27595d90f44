// Faces, hands and bodies as networks find them: boxes with key points, and the ways of finding
// them that a manifest can name.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "hub/fields.h"
#include "modules/image.h"

namespace hub {

class Module;

/// In pixels of the picture, x to the right and y down, from its upper left corner. z grows away
/// from the camera, in the unit of x.
struct KeyPoint {
  double x = 0, y = 0;
  std::optional<double> z, visibility;
};

struct Figure {
  double left = 0, top = 0, right = 0, bottom = 0;
  double score = 0;
  size_t label = 0;
  std::vector<KeyPoint> points;
};

/// Best first.
using FigureFinder = std::function<std::vector<Figure>(const Image& image)>;

/// `pre` and `post`: the members "detect" of preprocess and postprocess, of which it reads its
/// keys.
using FinderFactory = FigureFinder (*)(Module& module, Fields& pre, Fields& post);

/// One network that says for each of many places whether something is there (anchors.h).
FigureFinder make_anchor_finder(Module& module, Fields& pre, Fields& post);
/// Three networks one after the other (mtcnn.cc).
FigureFinder make_mtcnn_finder(Module& module, Fields& pre, Fields& post);

struct NamedFinder {
  std::string_view name;
  FinderFactory make;
};
inline constexpr NamedFinder figure_finders[] = {{"anchors", make_anchor_finder},
                                                 {"mtcnn", make_mtcnn_finder}};

}  // namespace hub
