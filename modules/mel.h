// Mel spectrograms: how strong each band of tones is, moment by moment.
#pragma once

#include <span>
#include <vector>

namespace hub {

struct MelOptions {
  int rate = 16000;  ///< samples a second
  int window = 400;  ///< samples in the transform of a frame (n_fft); even
  int step = 160;    ///< samples from frame to frame
  int bands = 40;
};

/// Power, not its logarithm, as librosa.feature.melspectrogram gives it: frames around every
/// step-th sample, zeros before and behind the sound, a Hann window, Slaney's bands from 0 to rate
/// / 2.
class MelSpectrogram {
 public:
  explicit MelSpectrogram(const MelOptions& options);
  /// [1 + samples / step, bands], frame by frame.
  std::vector<float> operator()(std::span<const float> samples) const;

 private:
  void power(std::span<const double> frame, std::span<double> out) const;

  MelOptions options_;
  size_t tones_;                   ///< window / 2 + 1
  std::vector<double> hann_;       ///< [window]
  std::vector<double> cos_, sin_;  ///< [tones, tones]: of 2 pi n k / window
  std::vector<double> filters_;    ///< [bands, tones]
};

}  // namespace hub
