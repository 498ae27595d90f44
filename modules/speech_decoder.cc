#include "modules/speech_decoder.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace hub {
namespace {

// The order of whisper-decoder's inputs: ids, positions, seen, wanted, then for each layer past
// keys and values, memory keys and values. Outputs: logits, then for each layer keys and values.
enum { ids_input, positions_input, seen_input, wanted_input, first_layer_input };
constexpr size_t per_layer = 4, outputs_per_layer = 2;

/// The input of the keys (even) and values (odd) kept of a layer.
constexpr size_t past_input(size_t i) { return first_layer_input + per_layer * (i / 2) + i % 2; }

constexpr float unseen = -1e9F;
constexpr size_t least_room = 64;
constexpr size_t prompt_step = 64;  ///< longer prompts are filled up to multiples, for fewer plans

}  // namespace

SpeechDecoder::SpeechDecoder(Session& network, size_t beams)
    : network_(network),
      beams_(beams),
      layers_((network.program().outputs.size() - 1) / outputs_per_layer),
      inputs_(network.program().inputs.size()) {
  const Program& program = network.program();
  if (layers_ == 0 || program.outputs.size() != 1 + layers_ * outputs_per_layer ||
      inputs_.size() != first_layer_input + layers_ * per_layer ||
      network.input_index("wanted") != wanted_input) {
    fail(Code::refused, "network 'decoder' has ", inputs_.size(), " inputs and ",
         program.outputs.size(), " outputs; wanted those of whisper-decoder");
  }
  const auto declared = [&](size_t input) -> const Spec& {
    return program[program.inputs[input]].declared;
  };
  if (const Shape& first = declared(past_input(0)).shape; first.rank() == 2) width_ = first[1];
  for (size_t i = 0; i < 2 * layers_; ++i) {
    const Spec& past = declared(past_input(i));
    if (width_ < 1 || !(past == Spec{DType::f32, {-1, width_}}))
      fail(Code::refused, "network 'decoder' takes ", past.str(),
           " as keys or values of the past, wanted float32[?, width], one width for all");
  }
}

std::span<float> SpeechDecoder::start(std::span<const Tensor> memory,
                                      std::span<const int64_t> tokens) {
  if (memory.size() != 2 * layers_)
    fail(Code::refused, "network 'encoder' gives ", memory.size(), " keys and values, wanted ",
         2 * layers_);
  for (size_t i = 0; i < layers_; ++i) {
    inputs_[first_layer_input + per_layer * i + 2] = memory[2 * i];
    inputs_[first_layer_input + per_layer * i + 3] = memory[2 * i + 1];
  }
  paths_.clear();
  kept_ = 0;
  const size_t count = tokens.size();
  make_room(count + beams_);
  std::vector<int64_t> ids(tokens.begin(), tokens.end());
  ids.resize(count <= beams_ ? beams_ : (count + prompt_step - 1) / prompt_step * prompt_step);
  std::vector<Path> paths(ids.size());  // those that fill it up see nobody
  for (size_t i = 1; i < count; ++i) {
    paths[i] = paths[i - 1];
    paths[i].push_back(room_ + i - 1);
  }
  const std::span<float> logits = run(ids, paths, count - 1);
  keep(count);
  Path all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  paths_ = {std::move(all)};
  return logits.first(logits.size() / beams_);
}

std::span<float> SpeechDecoder::step(std::span<const Branch> branches) {
  std::vector<int64_t> ids;
  std::vector<Path> paths;
  for (const Branch& branch : branches) {
    ids.push_back(branch.token);
    paths.push_back(paths_.at(branch.parent));
  }
  paths_ = std::move(paths);
  make_room(branches.size());
  const std::span<float> logits = run(ids, paths_, 0);
  for (size_t i = 0; i < paths_.size(); ++i) paths_[i].push_back(kept_ + i);
  keep(paths_.size());
  return logits;
}

/// The logits behind as many tokens as beams, from the one wanted first; behind the last are none.
std::span<float> SpeechDecoder::run(std::span<const int64_t> ids, std::span<const Path> paths,
                                    size_t first_wanted) {
  const auto count = static_cast<int64_t>(ids.size()), all = static_cast<int64_t>(room_) + count;
  std::vector<int64_t> positions, wanted;
  Tensor seen(DType::f32, {count, all});
  std::fill_n(seen.data<float>(), seen.numel(), unseen);
  for (size_t i = 0; i < paths.size(); ++i) {
    positions.push_back(static_cast<int64_t>(paths[i].size()));
    float* row = seen.data<float>() + static_cast<int64_t>(i) * all;
    for (const size_t place : paths[i]) row[place] = 0;
    row[room_ + i] = 0;
  }
  for (size_t i = 0; i < beams_; ++i)
    wanted.push_back(static_cast<int64_t>(std::min(first_wanted + i, ids.size() - 1)));
  inputs_[ids_input] = Tensor::ints({ids.begin(), ids.end()});
  inputs_[positions_input] = Tensor::ints(positions);
  inputs_[seen_input] = std::move(seen);
  inputs_[wanted_input] = Tensor::ints(wanted);
  network_.run(inputs_, outputs_);
  Tensor& logits = outputs_.front();
  if (logits.dtype() != DType::f32 || logits.shape().rank() != 2 ||
      logits.shape()[0] != static_cast<int64_t>(beams_))
    fail(Code::refused, "network 'decoder' gives ", logits.spec().str(), ", wanted a row a token");
  for (size_t i = 1; i < outputs_.size(); ++i) {
    const Spec found = outputs_[i].spec(), wanted_spec{DType::f32, {count, width_}};
    if (!(found == wanted_spec))
      fail(Code::refused, "network 'decoder' gives keys or values of ", found.str(), ", wanted ",
           wanted_spec.str());
  }
  return {logits.data<float>(), static_cast<size_t>(logits.numel())};
}

/// Copies the keys and values of the latest run's first tokens behind those that are kept.
void SpeechDecoder::keep(size_t count) {
  for (size_t i = 0; i < 2 * layers_; ++i) {
    const Tensor& now = outputs_[1 + i];
    Tensor& past = inputs_[past_input(i)];
    std::copy_n(now.data<float>(), static_cast<int64_t>(count) * width_,
                past.data<float>() + static_cast<int64_t>(kept_) * width_);
  }
  kept_ += count;
}

/// Room for so many more tokens. Grows by doubling where forgetting leaves less than half of it
/// free: each size is a plan of its own.
void SpeechDecoder::make_room(size_t count) {
  if (kept_ + count <= room_) return;
  forget_unused();
  size_t room = std::max(room_, least_room);
  while (2 * kept_ + count > room) room *= 2;
  if (room == room_) return;
  for (size_t i = 0; i < 2 * layers_; ++i) {
    Tensor& past = inputs_[past_input(i)];
    Tensor wider(DType::f32, {static_cast<int64_t>(room), width_});
    float* to = wider.data<float>();
    if (kept_ > 0) to = std::copy_n(past.data<float>(), static_cast<int64_t>(kept_) * width_, to);
    std::fill(to, wider.data<float>() + wider.numel(), 0.0F);  // weighted with 0, so no NaN
    past = std::move(wider);
  }
  room_ = room;
}

/// Moves the tokens that a hypothesis still descends from to the front, in their order.
void SpeechDecoder::forget_unused() {
  std::vector<size_t> places(kept_, kept_);  // the new place; kept_: none
  for (const Path& path : paths_)
    for (const size_t place : path) places[place] = 0;
  size_t used = 0;
  for (size_t from = 0; from < kept_; ++from) {
    if (places[from] == kept_) continue;
    places[from] = used;
    for (size_t i = 0; i < 2 * layers_; ++i) {
      float* data = inputs_[past_input(i)].data<float>();
      std::copy_n(data + static_cast<int64_t>(from) * width_, width_,
                  data + static_cast<int64_t>(used) * width_);
    }
    ++used;
  }
  for (Path& path : paths_)
    for (size_t& place : path) place = places[place];
  kept_ = used;
}

}  // namespace hub
