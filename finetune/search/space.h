// What a sweep varies: named dimensions, each a range or a list of values, as points of the unit
// cube.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "finetune/options.h"

namespace hub {

/// "lr=1e-5:1e-3:log,label-smoothing=0:0.2,batch=8|16|32": a range has bounds, and ":log" when its
/// orders of magnitude are what counts; a range whose bounds are written as whole numbers has
/// whole values.
class Space {
 public:
  /// Throws Code::usage naming the part that is not understood.
  explicit Space(std::string_view text);
  size_t size() const { return dimensions_.size(); }
  std::vector<std::string> names() const;
  /// The values at a point of the unit cube, by name, as one would write them.
  Pairs at(std::span<const double> point) const;

 private:
  struct Dimension {
    std::string name;
    double low = 0, high = 0;
    bool log = false, whole = false;
    std::vector<std::string> choices;  ///< empty: a range
  };
  static Dimension read(std::string_view part);
  std::vector<Dimension> dimensions_;
};

}  // namespace hub
