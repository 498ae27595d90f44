// A build without FFmpeg's headers.
#include "base/error.h"
#include "modules/video.h"

namespace hub {

struct Video::Impl {};

Video::Video(MappedFile, std::string name, int, int) {
  fail(Code::unsupported, name,
       ": this build reads no video; install libavformat-dev, libavcodec-dev, libavutil-dev and "
       "libswscale-dev, and build again");
}
Video::~Video() = default;
bool Video::next(Image&) { return false; }
double Video::time() const { return 0; }
double Video::frame_length() const { return 0; }

}  // namespace hub
