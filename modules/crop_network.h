// A network that looks at one square of a picture at a time, channels last.
#pragma once

#include "modules/module.h"
#include "modules/pixels.h"
#include "modules/region.h"

namespace hub {

class CropNetwork {
 public:
  /// `name`: of the network. The keys size (the side of its input), border ("black" or "repeat")
  /// and those of PixelRule. The module must outlive this.
  CropNetwork(Module& module, std::string name, Fields& fields);

  int size() const { return size_; }
  std::vector<Tensor> run(const Image& image, const Region& region) const;
  /// The numbers of an output. Throws Code::refused when there is no such output of float32 or when
  /// it has not `count` numbers, Code::numeric when one of them is not a number.
  std::span<const float> floats(const std::vector<Tensor>& outputs, size_t which,
                                size_t count) const;
  /// The same for any count.
  std::span<const float> floats(const std::vector<Tensor>& outputs, size_t which) const;

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  Module* module_;
  std::string name_;
  int size_ = 0;
  bool repeat_ = false;
  PixelRule pixels_;
};

}  // namespace hub
