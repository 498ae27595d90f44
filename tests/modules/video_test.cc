#include "modules/video.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace hub;

namespace {

/// Frames of these bytes; -1 when they are refused. Throws what a build without FFmpeg throws.
int frames_in(std::string bytes) {
  try {
    Video video(MappedFile::of(std::move(bytes)), "film", 48, 27);
    Image frame;
    int count = 0;
    for (double before = -1; video.next(frame); ++count) {
      REQUIRE(frame.pixels.size() == 48 * 27 * 3);
      REQUIRE(video.time() >= before);
      before = video.time();
    }
    return count;
  } catch (const Error& e) {
    if (e.code() == Code::unsupported) throw;
    CHECK(e.code() == Code::refused);
    return -1;
  }
}

}  // namespace

TEST_CASE("video: frame by frame, whole, cut off and damaged") {
  const std::string film =
      read_file(concat(HUB_SOURCE_DIR, "/registry/transnetv2/examples/cuts.mp4"));
  try {
    CHECK(frames_in(film) == 115);
    CHECK(frames_in("") == -1);
    CHECK(frames_in("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n") == -1);
    CHECK(frames_in("ffconcat version 1.0\nfile cuts.mp4\n") == -1);
    for (size_t n = 0; n < film.size(); n += 499) CHECK(frames_in(film.substr(0, n)) < 115);
    for (size_t n = 0; n < film.size(); n += 97) {
      std::string damaged = film;
      damaged[n] = static_cast<char>(damaged[n] ^ 0x55);
      CHECK(frames_in(damaged) <= 116);
    }
  } catch (const Error& e) {
    WARN(e.what());  // not compiled in, or not installed
  }
}
