// Video: a file watched frame by frame, never held whole. Read by FFmpeg's libraries, which are an
// optional part of the build (HUB_FFMPEG) and are loaded when there is a video to read.
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "modules/image.h"

namespace hub {

class Video {
 public:
  /// Opens the first picture stream of the file; each frame is scaled to width x height as the
  /// program ffmpeg does (bicubic), and not turned. Throws Code::refused naming `name`: no video,
  /// or one of a kind that is not read (MP4 and MOV, Matroska and WebM, AVI, MPEG, FLV, Ogg, ASF,
  /// GIF); Code::unsupported where this build has no FFmpeg or its libraries are not installed.
  /// Nothing but the file is ever opened, whatever it refers to.
  Video(MappedFile file, std::string name, int width, int height);
  ~Video();

  /// The next frame into `frame`; false after the last one. Throws Code::refused where the file is
  /// cut off or damaged.
  bool next(Image& frame);
  /// Seconds from the beginning of the film to the frame that next gave.
  double time() const;
  /// Seconds that a frame is shown, by the rate that the file states; 0: it states none.
  double frame_length() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hub
