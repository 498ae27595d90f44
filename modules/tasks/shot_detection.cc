// Shot detection: frames of a video in overlapping windows through one network, the shots between
// its cuts out. Frames are read as they are needed; a window of them is all that is held.
// preprocess: width, height, window, step (frames; of each window the middle `step` count);
// postprocess: threshold (above it a frame belongs to a cut).
#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/video.h"

namespace hub {
namespace {

/// Shots of a film that is told frame by frame. One ends with the first frame of a cut; the next
/// begins behind the cut.
class Shots {
 public:
  explicit Shots(double threshold) : threshold_(threshold) {}

  void add(double time, double score) {
    const bool cut = score > threshold_;
    if (ended_) list_.back()["end"] = time;
    ended_ = false;
    if (count_ == 0 || (in_cut_ && !cut)) {
      first_ = count_;
      start_ = time;
    }
    if (cut && !in_cut_ && count_ > 0) {
      push(count_);
      list_.back()["score"] = score;
      ended_ = true;
    }
    in_cut_ = cut;
    time_ = time;
    ++count_;
  }

  /// All of them, once the last frame, shown for `length` seconds, was added.
  json finish(double length) {
    if (!in_cut_ || list_.empty()) {
      push(count_ - 1);
      ended_ = true;
    }
    if (ended_) list_.back()["end"] = time_ + length;
    return std::move(list_);
  }

 private:
  void push(int64_t last) {
    list_.push_back({{"start", start_}, {"first_frame", first_}, {"last_frame", last}});
  }

  double threshold_;
  json list_ = json::array();
  int64_t count_ = 0, first_ = 0;
  double start_ = 0, time_ = 0;
  bool in_cut_ = false, ended_ = false;  ///< ended_: the end of the last shot is the next frame
};

struct Frame {
  double time = 0;
  std::vector<uint8_t> pixels;
};

class ShotDetection final : public Task {
 public:
  explicit ShotDetection(Module& module) : module_(module) {
    Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
    width_ = static_cast<int>(pre.integer("width", 8, 1024));
    height_ = static_cast<int>(pre.integer("height", 8, 1024));
    window_ = pre.integer("window", 1, 1000);
    step_ = pre.integer("step", 1, window_);
    if ((window_ - step_) % 2 != 0) pre.refuse("step", "leaves more on one side of the window");
    pre.done();
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    threshold_ = post.number("threshold");
    post.done();
  }

  InputKind input() const override { return InputKind::video; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<json> results;
    for (const Sample& sample : samples) results.push_back({{"segments", shots(sample)}});
    return results;
  }

 private:
  json shots(const Sample& sample) {
    Video video(sample.file, sample.name, width_, height_);
    Shots shots(threshold_);
    std::deque<Frame> frames;  // from frame `begin` on
    int64_t begin = 0, count = 0;
    bool ended = false;
    Image picture;
    const int64_t margin = (window_ - step_) / 2;
    for (int64_t at = 0; !ended || at < count; at += step_) {
      while (!ended && count < at + step_ + margin) {
        ended = !video.next(picture);
        if (ended) break;
        frames.push_back({video.time(), picture.pixels});
        ++count;
      }
      if (at >= count) break;
      // Before the first frame and behind the last one those stand again.
      Tensor window(DType::u8, {1, window_, height_, width_, 3});
      for (int64_t i = 0; i < window_; ++i) {
        const int64_t frame = std::clamp<int64_t>(at - margin + i, 0, count - 1);
        const std::vector<uint8_t>& pixels = frames[static_cast<size_t>(frame - begin)].pixels;
        std::copy(pixels.begin(), pixels.end(),
                  window.data<uint8_t>() + i * static_cast<int64_t>(pixels.size()));
      }
      const Tensor logits = run(std::move(window), sample.name);
      for (int64_t i = at; i < std::min(at + step_, count); ++i) {
        const double logit = logits.data<float>()[margin + i - at];
        shots.add(frames[static_cast<size_t>(i - begin)].time, 1 / (1 + std::exp(-logit)));
      }
      for (; begin < at + step_ - margin && !frames.empty(); ++begin) frames.pop_front();
    }
    return shots.finish(video.frame_length());
  }

  Tensor run(Tensor window, const std::string& name) {
    Tensor logits = module_.network("main").run({std::move(window)}).at(0);
    if (logits.dtype() != DType::f32 || logits.shape() != Shape{1, window_})
      fail(Code::refused, module_.manifest().id(), ": the network gives ", logits.spec().str(),
           ", wanted float32[1, ", window_, "], a number a frame");
    const auto values = logits.values<float>();
    if (std::any_of(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }))
      fail(Code::numeric, name, ": the network gave scores that are not numbers");
    return logits;
  }

  Module& module_;
  int width_ = 0, height_ = 0;
  int64_t window_ = 0, step_ = 0;
  double threshold_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_shot_detection(Module& module) {
  return std::make_unique<ShotDetection>(module);
}

}  // namespace hub
