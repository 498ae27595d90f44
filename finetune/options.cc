#include "finetune/options.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"

namespace hub {

void TrainOptions::check() const {
  const auto whole = [](std::string_view what, int64_t v, int64_t least, int64_t most) {
    if (v < least || v > most) fail(Code::usage, what, " is ", v, ", wanted ", least, " to ", most);
  };
  const auto real = [](std::string_view what, double v, double least, double most) {
    if (!(v >= least && v <= most))
      fail(Code::usage, what, " is ", v, ", wanted ", least, " to ", most);
  };
  whole("epochs", epochs, 1, 100'000);
  whole("batch", batch, 1, 1 << 20);
  real("lr", rate, 0, 1000);
  const std::vector<std::string> strategies = {"full", "head", "lora", "gradual"};
  if (std::find(strategies.begin(), strategies.end(), strategy) == strategies.end())
    fail(Code::usage, "strategy '", printable(strategy), "'; wanted ", one_of(strategies));
  real("layer factor", layer_factor, 1, 100);
  whole("blocks", blocks, 1, 64);
  whole("LoRA rank", lora_rank, 1, 1024);
  real("label smoothing", label_smoothing, 0, 0.99);
  real("mixup", mixup, 0, 10);
  for (std::string_view word : split(augment, ',')) {
    if (!word.empty() && word != "flip" && word != "crop")
      fail(Code::usage, "augment '", printable(word), "'; wanted ", one_of({"flip", "crop"}));
  }
  whole("accumulate", accumulate, 1, 4096);
  real("time budget", time_budget, 0, 1e9);
  whole("early stop", early_stop, 0, 1 << 20);
  whole("loader threads", loaders, 1, 64);
  optimizer.check();
  schedule.check();
}

Pairs TrainOptions::pairs() const {
  Pairs all;
  const auto put = [&]<class T>(std::string name, const T& value) {
    if constexpr (std::is_floating_point_v<T>) {  // as short as it can be and no shorter
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, value).ptr;
      all.emplace_back(std::move(name), std::string(text, end));
    } else {
      all.emplace_back(std::move(name), concat(value));
    }
  };
  put("epochs", epochs);
  put("batch", batch);
  put("learning rate", rate);
  put("strategy", strategy);
  if (!freeze.empty()) put("freeze", freeze);
  put("batch norm", norm_train ? "train" : "frozen");
  if (layer_factor != 1) put("layer factor", layer_factor);
  if (strategy == "gradual" || layer_factor != 1) put("blocks", blocks);
  if (strategy == "lora") put("LoRA rank", lora_rank);
  put("optimizer", optimizer.kind);
  put("weight decay", optimizer.weight_decay);
  put("decay all", optimizer.decay_all ? "yes" : "no");
  put("momentum", optimizer.momentum);
  put("beta1", optimizer.beta1);
  put("beta2", optimizer.beta2);
  if (optimizer.epsilon > 0) put("epsilon", optimizer.epsilon);
  if (optimizer.clip_norm > 0) put("clip norm", optimizer.clip_norm);
  if (optimizer.clip_each > 0) put("clip each", optimizer.clip_each);
  if (optimizer.clip_value > 0) put("clip value", optimizer.clip_value);
  if (optimizer.l2sp > 0) put("L2-SP", optimizer.l2sp);
  if (optimizer.ema > 0) put("EMA", optimizer.ema);
  put("schedule", schedule.kind);
  put("warm-up", schedule.warmup);
  if (label_smoothing > 0) put("label smoothing", label_smoothing);
  if (!class_weights.empty()) put("class weights", class_weights);
  if (mixup > 0) put("mixup", mixup);
  if (!augment.empty()) put("augment", augment);
  if (accumulate > 1) put("accumulate", accumulate);
  put("seed", seed);
  put("shuffle", shuffle ? "yes" : "no");
  if (time_budget > 0) put("time budget", time_budget);
  if (early_stop > 0) put("early stop", early_stop);
  if (recompute) put("recompute", "yes");
  return all;
}

}  // namespace hub
