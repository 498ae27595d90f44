// Sound: decoding by content into one channel of numbers, resampling, WAV out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// One channel, full scale from -1 to 1.
struct Audio {
  int rate = 0;  ///< samples a second
  std::vector<float> samples;
};

/// WAV, FLAC, Ogg (Vorbis, Opus) or MP3, judged by content, at the file's own rate; channels are
/// averaged. Throws Code::refused naming `name`: not sound, empty, truncated, damaged, or more than
/// `max_samples`, beyond which nothing is kept (an MP3 without a count of frames, or a WAV that
/// went through a pipe, may end anywhere); Code::unsupported where the library that reads it,
/// libsndfile or libmpg123, is not installed.
Audio decode_audio(std::string_view bytes, const std::string& name,
                   int64_t max_samples = int64_t{1} << 28);

/// The same sound at another rate, ceil(samples × rate / audio.rate) samples: soxr's high quality,
/// which is what librosa.load and librosa.resample give. Throws Code::refused when that is more
/// than `max_samples`, Code::unsupported where libsoxr is not installed.
Audio resample(const Audio& audio, int rate, int64_t max_samples = int64_t{1} << 28);

/// 16 bits a sample; what lies outside full scale is cut. What decode_audio reads from it are the
/// numbers that 16 bits had.
std::string encode_wav(const Audio& audio);

}  // namespace hub
