#include "modules/mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hub {
namespace {

/// Slaney's scale: linear to 1000 Hz, logarithmic above.
constexpr double linear_step = 200.0 / 3, knee = 1000, knee_mel = knee / linear_step;
const double log_step = std::log(6.4) / 27;

double to_mel(double hz) {
  return hz < knee ? hz / linear_step : knee_mel + std::log(hz / knee) / log_step;
}
double to_hz(double mel) {
  return mel < knee_mel ? mel * linear_step : knee * std::exp((mel - knee_mel) * log_step);
}

}  // namespace

MelSpectrogram::MelSpectrogram(const MelOptions& options)
    : options_(options), tones_(static_cast<size_t>(options.window) / 2 + 1) {
  const auto window = static_cast<size_t>(options.window),
             bands = static_cast<size_t>(options.bands);
  const auto angle = [&](size_t i) {
    return 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window);
  };
  for (size_t i = 0; i < window; ++i) hann_.push_back(0.5 - 0.5 * std::cos(angle(i)));
  for (size_t n = 0; n < tones_; ++n) {
    for (size_t k = 0; k < tones_; ++k) {
      cos_.push_back(std::cos(angle(n * k % window)));
      sin_.push_back(std::sin(angle(n * k % window)));
    }
  }
  std::vector<double> edges(bands + 2);
  const double highest = to_mel(options.rate / 2.0);
  for (size_t i = 0; i < edges.size(); ++i)
    edges[i] = to_hz(highest * static_cast<double>(i) / static_cast<double>(bands + 1));
  for (size_t b = 0; b < bands; ++b) {
    const double low = edges[b], middle = edges[b + 1], high = edges[b + 2];
    for (size_t k = 0; k < tones_; ++k) {
      const double hz = static_cast<double>(k) * options.rate / static_cast<double>(window);
      const double height = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      filters_.push_back(std::max(0.0, height) * 2 / (high - low));
    }
  }
}

/// The power of each tone of a frame [window]. Sines and cosines are odd and
/// even, so that both halves of the frame go through one half of the table.
void MelSpectrogram::power(std::span<const double> frame, std::span<double> out) const {
  const size_t window = frame.size(), half = window / 2;
  std::vector<double> real(tones_), imaginary(tones_);
  for (size_t n = 0; n <= half; ++n) {
    const bool twice = n > 0 && n < half;
    const double even = twice ? frame[n] + frame[window - n] : frame[n];
    const double odd = twice ? frame[n] - frame[window - n] : 0;
    const double* c = cos_.data() + n * tones_;
    const double* s = sin_.data() + n * tones_;
    for (size_t k = 0; k < tones_; ++k) {
      real[k] += even * c[k];
      imaginary[k] += odd * s[k];
    }
  }
  for (size_t k = 0; k < tones_; ++k) out[k] = real[k] * real[k] + imaginary[k] * imaginary[k];
}

double MelSpectrogram::sample(std::span<const float> samples, std::ptrdiff_t at) const {
  const auto size = static_cast<std::ptrdiff_t>(samples.size());
  while (options_.mirrored && size > 1 && (at < 0 || at >= size))
    at = at < 0 ? -at : 2 * (size - 1) - at;
  return at >= 0 && at < size ? samples[static_cast<size_t>(at)] : 0;
}

std::vector<float> MelSpectrogram::operator()(std::span<const float> samples) const {
  const auto window = static_cast<size_t>(options_.window),
             step = static_cast<size_t>(options_.step);
  const size_t frames = 1 + samples.size() / step, half = window / 2;
  std::vector<float> mel;
  mel.reserve(frames * static_cast<size_t>(options_.bands));
  std::vector<double> frame(window), tones(tones_);
  for (size_t f = 0; f < frames; ++f) {
    for (size_t i = 0; i < window; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(f * step + i) - static_cast<std::ptrdiff_t>(half);
      frame[i] = hann_[i] * sample(samples, at);
    }
    power(frame, tones);
    for (size_t b = 0; b < static_cast<size_t>(options_.bands); ++b) {
      double sum = 0;
      for (size_t k = 0; k < tones_; ++k) sum += filters_[b * tones_ + k] * tones[k];
      mel.push_back(static_cast<float>(sum));
    }
  }
  return mel;
}

void to_whisper_scale(std::span<float> mel) {
  float most = -10;
  for (float& x : mel) {
    x = std::log10(std::max(x, 1e-10F));
    most = std::max(most, x);
  }
  for (float& x : mel) x = (std::max(x, most - 8) + 4) / 4;
}

}  // namespace hub
