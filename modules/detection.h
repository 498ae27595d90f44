// Objects in pictures as networks find them: one decoder a family of networks, and the choice among
// boxes that show the same object.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"

namespace hub {

/// In pixels of the network's input; x to the right, y down.
struct Detection {
  double left = 0, top = 0, right = 0, bottom = 0;
  float score = 0;
  size_t label = 0;
};

/// What a decoder gets of one run of the network.
struct DetectionInput {
  std::span<const Tensor> outputs;
  size_t row = 0;  ///< which picture of the batch
  int width = 0, height = 0;
  size_t labels = 0;
  double threshold = 0;  ///< what scores no more than this is not looked at
};

/// Every candidate above the threshold. Throws Code::refused when the outputs have not the shapes
/// of such a network, Code::numeric when a box is not a number.
using DetectionDecoder = std::vector<Detection> (*)(const DetectionInput& input);

/// PP-PicoDet: per level the scores [N, cells, labels], then per level the distances of the four
/// sides from the cell's centre as distributions [N, cells, 4 * bins]; the cells are 8, 16, 32, …
/// wide.
std::vector<Detection> decode_picodet(const DetectionInput& input);

/// YOLOv8: one output [N, 4 + labels, cells] (yolov8.cc).
std::vector<Detection> decode_yolov8(const DetectionInput& input);

struct NamedDecoder {
  std::string_view name;
  DetectionDecoder decode;
};
inline constexpr NamedDecoder detection_decoders[] = {{"picodet", decode_picodet},
                                                      {"yolov8", decode_yolov8}};

/// Of boxes of one label that overlap by more than `overlap` (intersection over union) the best one
/// stays; best first. Of a label the best 200 are looked at and at most 100 stay. With
/// `across_labels` boxes of different labels are treated as of one.
std::vector<Detection> without_overlaps(std::vector<Detection> found, double overlap,
                                        bool across_labels = false);

}  // namespace hub
