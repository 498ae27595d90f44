#include "modules/crop_network.h"

#include <cmath>

#include "base/error.h"

namespace hub {

CropNetwork::CropNetwork(Module& module, std::string name, Fields& fields)
    : module_(&module),
      name_(std::move(name)),
      size_(static_cast<int>(fields.integer("size", 8, 1024))),
      repeat_(fields.choice("border", {"black", "repeat"}) == "repeat"),
      pixels_(fields) {}

std::vector<Tensor> CropNetwork::run(const Image& image, const Region& region) const {
  Tensor input(DType::f32, {1, size_, size_, 3});
  pixels_.put_interleaved(cut_out(image, region, size_, repeat_), input.data<float>());
  return module_->network(name_).run({input});
}

std::span<const float> CropNetwork::floats(const std::vector<Tensor>& outputs, size_t which) const {
  if (which >= outputs.size())
    refuse(concat("has ", outputs.size(), " outputs, wanted number ", which));
  const Tensor& output = outputs[which];
  if (output.dtype() != DType::f32)
    refuse(concat("gives ", output.spec().str(), " as output ", which, ", wanted float32"));
  for (const float value : output.values<float>()) {
    if (!std::isfinite(value)) {
      fail(Code::numeric, module_->manifest().id(), ": network '", name_,
           "' gave a value that is not a number");
    }
  }
  return output.values<float>();
}

std::span<const float> CropNetwork::floats(const std::vector<Tensor>& outputs, size_t which,
                                           size_t count) const {
  const auto values = floats(outputs, which);
  if (values.size() != count) {
    refuse(concat("gives ", outputs[which].spec().str(), " as output ", which, ", wanted ", count,
                  " numbers"));
  }
  return values;
}

void CropNetwork::refuse(const std::string& why) const {
  fail(Code::refused, module_->manifest().id(), ": network '", name_, "' ", why);
}

}  // namespace hub
