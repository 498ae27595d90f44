#include "finetune/parameters.h"

#include <algorithm>

#include "base/text.h"

namespace hub {

Parameters::Parameters(const Program& network) {
  for (const OpCall& call : network.ops) {
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (call.in[i] == absent) continue;
      const Value& v = network[call.in[i]];
      if (!v.constant || v.constant.dtype() != DType::f32) continue;
      if (call.op->name == "batch_norm" && i >= 3) {
        statistics_.insert(v.name);
      } else if (place_.emplace(v.name, names_.size()).second) {
        names_.push_back(v.name);
      }
    }
  }
}

int Parameters::blocks_above(std::string_view name, int blocks) const {
  const auto it = place_.find(name);
  if (it == place_.end() || name.starts_with("head.")) return 0;
  size_t body = 0;
  for (const std::string& n : names_) body += n.starts_with("head.") ? 0 : 1;
  const size_t block = it->second * static_cast<size_t>(blocks) / std::max<size_t>(body, 1);
  return blocks - static_cast<int>(std::min(block, static_cast<size_t>(blocks) - 1));
}

bool Parameters::trains(std::string_view name, std::string_view strategy, std::string_view freeze,
                        int stage, int blocks) const {
  if (statistics_.contains(name)) return false;
  for (std::string_view part : split(freeze, ',')) {
    if (!part.empty() && name.find(part) != name.npos) return false;
  }
  const bool head = name.starts_with("head.");
  const bool lora = name.ends_with(".lora_a") || name.ends_with(".lora_b");
  if (strategy == "head") return head;
  if (strategy == "lora") return head || lora;
  // The head alone in the first stage of "gradual", one block more in each that follows.
  if (strategy == "gradual") return blocks_above(name, blocks) < stage || stage >= blocks;
  return true;
}

}  // namespace hub
