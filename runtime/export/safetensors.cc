#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "runtime/export/export.h"

namespace hub {
namespace {

std::string_view type_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::i64: return "I64";
    case DType::i32: return "I32";
    case DType::i16: return "I16";
    case DType::i8: return "I8";
    case DType::u64: return "U64";
    case DType::u32: return "U32";
    case DType::u16: return "U16";
    case DType::u8: return "U8";
    case DType::boolean: return "BOOL";
    default: fail(Code::unsupported, "safetensors cannot hold ", name_of(dtype));
  }
}

}  // namespace

void write_safetensors(const NamedTensors& tensors,
                       const std::function<void(std::string_view)>& sink) {
  std::vector<std::pair<std::string_view, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(name, &tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_of(a.second->dtype()) > size_of(b.second->dtype());
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const uint64_t end = at + tensor->bytes();
    header[std::string(name)] = {{"dtype", type_name(tensor->dtype())},
                                 {"shape", tensor->shape().vec()},
                                 {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  const uint64_t length = text.size();
  sink({reinterpret_cast<const char*>(&length), sizeof length});
  sink(text);
  for (const auto& [name, tensor] : order)
    sink({static_cast<const char*>(tensor->raw()), tensor->bytes()});
}

}  // namespace hub
