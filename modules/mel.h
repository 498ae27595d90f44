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
  bool mirrored = false;  ///< before and behind the sound is its mirror image, not zeros
};

/// Power, not its logarithm, as librosa.feature.melspectrogram gives it: frames around every
/// step-th sample, a Hann window, Slaney's bands from 0 to rate / 2.
class MelSpectrogram {
 public:
  explicit MelSpectrogram(const MelOptions& options);
  /// [1 + samples / step, bands], frame by frame.
  std::vector<float> operator()(std::span<const float> samples) const;

 private:
  double sample(std::span<const float> samples, std::ptrdiff_t at) const;
  void power(std::span<const double> frame, std::span<double> out) const;

  MelOptions options_;
  size_t tones_;                   ///< window / 2 + 1
  std::vector<double> hann_;       ///< [window]
  std::vector<double> cos_, sin_;  ///< [tones, tones]: of 2 pi n k / window
  std::vector<double> filters_;    ///< [bands, tones]
};

/// The logarithm of a whole spectrogram as Whisper takes it: all within 8 decades below the
/// strongest, (log10 + 4) / 4.
void to_whisper_scale(std::span<float> mel);

}  // namespace hub
