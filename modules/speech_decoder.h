// The decoder of networks/whisper.cc run step by step: what earlier tokens left behind is kept and
// shared by all hypotheses, none of which is ever run again.
#pragma once

#include <span>
#include <vector>

#include "modules/token_search.h"
#include "runtime/runtime.h"

namespace hub {

class SpeechDecoder {
 public:
  /// Throws Code::refused when the network does not take and give what whisper-decoder does.
  SpeechDecoder(Session& network, size_t beams);

  /// Begins anew on a sound: `memory` are the keys and values of each layer, in the order of the
  /// encoder's outputs. The logits behind the last of `tokens`, of which there is one at least.
  std::span<float> start(std::span<const Tensor> memory, std::span<const int64_t> tokens);
  /// The logits behind each branch, as many as beams; parents are the branches of the step before,
  /// 0 the only one there is at first. Overwrites what the step before gave.
  std::span<float> step(std::span<const Branch> branches);

 private:
  /// What a token sees, in order: the tokens kept, by their place, and those of its own run, by
  /// their place behind the room for those that are kept.
  using Path = std::vector<size_t>;

  std::span<float> run(std::span<const int64_t> ids, std::span<const Path> paths,
                       size_t first_wanted);
  void keep(size_t count);
  void make_room(size_t count);
  void forget_unused();

  Session& network_;
  size_t beams_, layers_;
  int64_t width_ = 0;  ///< of a key and of a value
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Path> paths_;     ///< what the branches of the latest step see, themselves included
  size_t kept_ = 0, room_ = 0;  ///< tokens kept, and for how many there is room
};

}  // namespace hub
