// Video through FFmpeg's libraries. They read from memory only: protocols are forbidden, and what a
// file refers to is not opened.
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/dict.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>
}

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/library.h"
#include "modules/video.h"

namespace hub {
namespace {

constexpr const char* kinds = "mov,matroska,avi,mpegts,mpeg,flv,ogg,asf,gif";
constexpr int64_t max_pixels = 89'478'485;

struct Ffmpeg {
  decltype(&::avformat_alloc_context) format_alloc;
  decltype(&::avformat_open_input) format_open;
  decltype(&::avformat_close_input) format_close;
  decltype(&::avformat_find_stream_info) find_info;
  decltype(&::av_find_best_stream) best_stream;
  decltype(&::av_read_frame) read_frame;
  decltype(&::av_guess_frame_rate) frame_rate;
  decltype(&::avio_alloc_context) io_alloc;
  decltype(&::avio_context_free) io_free;
  decltype(&::avcodec_alloc_context3) codec_alloc;
  decltype(&::avcodec_free_context) codec_free;
  decltype(&::avcodec_parameters_to_context) codec_parameters;
  decltype(&::avcodec_open2) codec_open;
  decltype(&::avcodec_send_packet) send;
  decltype(&::avcodec_receive_frame) receive;
  decltype(&::av_packet_alloc) packet_alloc;
  decltype(&::av_packet_free) packet_free;
  decltype(&::av_packet_unref) packet_unref;
  decltype(&::av_frame_alloc) frame_alloc;
  decltype(&::av_frame_free) frame_free;
  decltype(&::av_malloc) allocate;
  decltype(&::av_freep) release;
  decltype(&::av_dict_set) dict_set;
  decltype(&::av_dict_free) dict_free;
  decltype(&::av_strerror) error_text;
  decltype(&::av_log_set_level) log_level;
  decltype(&::sws_getCachedContext) scaler;
  decltype(&::sws_freeContext) scaler_free;
  decltype(&::sws_scale) scale;
  decltype(&::sws_getCoefficients) coefficients;
  decltype(&::sws_getColorspaceDetails) colours;
  decltype(&::sws_setColorspaceDetails) set_colours;

  static const Ffmpeg& get() {
    static const Ffmpeg functions = [] {
      const auto open = [](const char* name, int version) {
        return Library(
            concat(name, ".so.", version), "videos",
            concat("install FFmpeg's libraries, in Debian libavformat", LIBAVFORMAT_VERSION_MAJOR,
                   ", libavcodec", LIBAVCODEC_VERSION_MAJOR, ", libavutil", LIBAVUTIL_VERSION_MAJOR,
                   " and libswscale", LIBSWSCALE_VERSION_MAJOR));
      };
      const Library util = open("libavutil", LIBAVUTIL_VERSION_MAJOR);
      const Library codec = open("libavcodec", LIBAVCODEC_VERSION_MAJOR);
      const Library format = open("libavformat", LIBAVFORMAT_VERSION_MAJOR);
      const Library scale = open("libswscale", LIBSWSCALE_VERSION_MAJOR);
      Ffmpeg f{};
      format.symbol(f.format_alloc, "avformat_alloc_context");
      format.symbol(f.format_open, "avformat_open_input");
      format.symbol(f.format_close, "avformat_close_input");
      format.symbol(f.find_info, "avformat_find_stream_info");
      format.symbol(f.best_stream, "av_find_best_stream");
      format.symbol(f.read_frame, "av_read_frame");
      format.symbol(f.frame_rate, "av_guess_frame_rate");
      format.symbol(f.io_alloc, "avio_alloc_context");
      format.symbol(f.io_free, "avio_context_free");
      codec.symbol(f.codec_alloc, "avcodec_alloc_context3");
      codec.symbol(f.codec_free, "avcodec_free_context");
      codec.symbol(f.codec_parameters, "avcodec_parameters_to_context");
      codec.symbol(f.codec_open, "avcodec_open2");
      codec.symbol(f.send, "avcodec_send_packet");
      codec.symbol(f.receive, "avcodec_receive_frame");
      codec.symbol(f.packet_alloc, "av_packet_alloc");
      codec.symbol(f.packet_free, "av_packet_free");
      codec.symbol(f.packet_unref, "av_packet_unref");
      util.symbol(f.frame_alloc, "av_frame_alloc");
      util.symbol(f.frame_free, "av_frame_free");
      util.symbol(f.allocate, "av_malloc");
      util.symbol(f.release, "av_freep");
      util.symbol(f.dict_set, "av_dict_set");
      util.symbol(f.dict_free, "av_dict_free");
      util.symbol(f.error_text, "av_strerror");
      util.symbol(f.log_level, "av_log_set_level");
      scale.symbol(f.scaler, "sws_getCachedContext");
      scale.symbol(f.scaler_free, "sws_freeContext");
      scale.symbol(f.scale, "sws_scale");
      scale.symbol(f.coefficients, "sws_getCoefficients");
      scale.symbol(f.colours, "sws_getColorspaceDetails");
      scale.symbol(f.set_colours, "sws_setColorspaceDetails");
      f.log_level(AV_LOG_QUIET);
      return f;
    }();
    return functions;
  }
};

/// The bytes of the file as FFmpeg asks for them.
struct Memory {
  std::span<const std::byte> bytes;
  int64_t at = 0;

  static int read(void* self, uint8_t* to, int size) {
    auto* m = static_cast<Memory*>(self);
    const int64_t left = static_cast<int64_t>(m->bytes.size()) - m->at;
    if (left <= 0) return AVERROR_EOF;
    const auto count = std::min<int64_t>(left, size);
    std::memcpy(to, m->bytes.data() + m->at, static_cast<size_t>(count));
    m->at += count;
    return static_cast<int>(count);
  }

  static int64_t seek(void* self, int64_t offset, int whence) {
    auto* m = static_cast<Memory*>(self);
    const auto size = static_cast<int64_t>(m->bytes.size());
    switch (whence & ~AVSEEK_FORCE) {
      case AVSEEK_SIZE: return size;
      case SEEK_SET: break;
      case SEEK_CUR: offset += m->at; break;
      case SEEK_END: offset += size; break;
      default: return AVERROR(EINVAL);
    }
    if (offset < 0 || offset > size) return AVERROR(EINVAL);
    return m->at = offset;
  }
};

int open_nothing(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EACCES);
}

}  // namespace

struct Video::Impl {
  const Ffmpeg& lib = Ffmpeg::get();
  MappedFile file;
  std::string name;
  int width, height;
  Memory memory;
  AVIOContext* io = nullptr;
  AVFormatContext* format = nullptr;
  AVCodecContext* codec = nullptr;
  AVPacket* packet = nullptr;
  AVFrame* frame = nullptr;
  SwsContext* scaler = nullptr;
  int stream = -1;
  bool drained = false;  ///< the decoder was told that no more packets come
  int64_t frames = 0;
  double time = 0, length = 0;

  Impl(MappedFile video, std::string called, int w, int h)
      : file(std::move(video)), name(std::move(called)), width(w), height(h) {
    memory.bytes = file.bytes();
  }

  ~Impl() {
    lib.scaler_free(scaler);
    lib.frame_free(&frame);
    lib.packet_free(&packet);
    lib.codec_free(&codec);
    if (format != nullptr) lib.format_close(&format);
    if (io != nullptr) {
      lib.release(&io->buffer);
      lib.io_free(&io);
    }
  }

  template <class... Parts>
  [[noreturn]] void refuse(int status, const Parts&... parts) const {
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    if (status < 0) lib.error_text(status, text, sizeof text);
    fail(Code::refused, name, parts..., status < 0 ? ": " : "", text);
  }

  void open() {
    constexpr int block = 1 << 16;
    auto* buffer = static_cast<unsigned char*>(lib.allocate(block));
    io = buffer == nullptr
             ? nullptr
             : lib.io_alloc(buffer, block, 0, &memory, Memory::read, nullptr, Memory::seek);
    format = lib.format_alloc();
    packet = lib.packet_alloc();
    frame = lib.frame_alloc();
    if (io == nullptr || format == nullptr || packet == nullptr || frame == nullptr)
      fail(Code::storage, name, ": no memory for a video");
    format->pb = io;
    format->io_open = open_nothing;
    AVDictionary* options = nullptr;
    lib.dict_set(&options, "protocol_whitelist", "none", 0);
    lib.dict_set(&options, "format_whitelist", kinds, 0);
    const int opened = lib.format_open(&format, nullptr, nullptr, &options);
    lib.dict_free(&options);
    if (opened < 0 || lib.find_info(format, nullptr) < 0)
      refuse(0,
             " is not a video that can be read; wanted MP4 or MOV, Matroska or WebM, AVI, MPEG, ",
             "FLV, Ogg, ASF or GIF, whole from its beginning");
    const AVCodec* decoder = nullptr;
    stream = lib.best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
    if (stream < 0 || decoder == nullptr) refuse(stream, " holds no pictures that can be decoded");
    AVStream* s = format->streams[stream];
    codec = lib.codec_alloc(decoder);
    if (codec == nullptr) fail(Code::storage, name, ": no memory for a video");
    int ready = lib.codec_parameters(codec, s->codecpar);
    codec->thread_count = 0;  // as many as there are processors
    codec->max_pixels = max_pixels;
    codec->pkt_timebase = s->time_base;
    if (ready >= 0) ready = lib.codec_open(codec, decoder, nullptr);
    if (ready < 0) refuse(ready, " cannot be decoded");
    for (unsigned i = 0; i < format->nb_streams; ++i)
      if (static_cast<int>(i) != stream) format->streams[i]->discard = AVDISCARD_ALL;
    const AVRational rate = lib.frame_rate(format, s, nullptr);
    if (rate.num > 0 && rate.den > 0) length = static_cast<double>(rate.den) / rate.num;
  }

  bool next(Image& to) {
    for (;;) {
      const int got = lib.receive(codec, frame);
      if (got == 0) break;
      if (got == AVERROR_EOF) {
        if (frames == 0) refuse(0, " holds no frame that can be decoded");
        return false;
      }
      if (got != AVERROR(EAGAIN)) refuse(got, " is damaged after ", frames, " frames");
      feed();
    }
    convert(to);
    const AVStream& s = *format->streams[stream];
    const int64_t begin = s.start_time == AV_NOPTS_VALUE ? 0 : s.start_time;
    const double stated = static_cast<double>(frame->best_effort_timestamp - begin) *
                          s.time_base.num / s.time_base.den;
    // Never backwards, and one after the other where the file states no times.
    const double guessed = frames == 0 ? 0 : time + length;
    time = frame->best_effort_timestamp == AV_NOPTS_VALUE || !(stated >= time) ? guessed : stated;
    ++frames;
    return true;
  }

  /// One packet of the stream to the decoder. Packets that it cannot read are passed over, as
  /// players do.
  void feed() {
    if (drained) refuse(0, " is damaged after ", frames, " frames");
    for (;;) {
      const int read = lib.read_frame(format, packet);
      if (read < 0) {
        if (read != AVERROR_EOF) refuse(read, " is damaged after ", frames, " frames");
        drained = true;
        lib.send(codec, nullptr);
        return;
      }
      const bool ours = packet->stream_index == stream;
      const int sent = ours ? lib.send(codec, packet) : 0;
      lib.packet_unref(packet);
      if (sent < 0 && sent != AVERROR_INVALIDDATA)
        refuse(sent, " is damaged after ", frames, " frames");
      if (ours && sent == 0) return;
    }
  }

  void convert(Image& to) {
    if (frame->width < 1 || frame->height < 1 || int64_t{frame->width} * frame->height > max_pixels)
      refuse(0, " has a frame of ", frame->width, " x ", frame->height, " pixels");
    scaler =
        lib.scaler(scaler, frame->width, frame->height, static_cast<AVPixelFormat>(frame->format),
                   width, height, AV_PIX_FMT_RGB24, SWS_BICUBIC, nullptr, nullptr, nullptr);
    if (scaler == nullptr)
      fail(Code::unsupported, name, ": its pixels are of a kind that cannot be scaled");
    int *from = nullptr, *into = nullptr;
    int from_full = 0, into_full = 0, brightness = 0, contrast = 0, saturation = 0;
    if (lib.colours(scaler, &from, &from_full, &into, &into_full, &brightness, &contrast,
                    &saturation) >= 0) {
      if (frame->color_range != AVCOL_RANGE_UNSPECIFIED)
        from_full = frame->color_range == AVCOL_RANGE_JPEG ? 1 : 0;
      lib.set_colours(scaler, lib.coefficients(frame->colorspace), from_full, into, into_full,
                      brightness, contrast, saturation);
    }
    // Rows with room behind them, for the scaler writes whole vectors.
    const int row = (3 * width + 63) / 64 * 64;
    rows.resize(static_cast<size_t>(row) * static_cast<size_t>(height) + 64);
    uint8_t* planes[4] = {rows.data(), nullptr, nullptr, nullptr};
    const int strides[4] = {row, 0, 0, 0};
    if (lib.scale(scaler, frame->data, frame->linesize, 0, frame->height, planes, strides) !=
        height)
      refuse(0, " has a frame that cannot be scaled");
    to.width = width;
    to.height = height;
    to.channels = 3;
    to.pixels.clear();
    for (int y = 0; y < height; ++y)
      to.pixels.insert(to.pixels.end(), rows.begin() + y * row, rows.begin() + y * row + 3 * width);
  }

  std::vector<uint8_t> rows;
};

Video::Video(MappedFile file, std::string name, int width, int height)
    : impl_(std::make_unique<Impl>(std::move(file), std::move(name), width, height)) {
  impl_->open();
}
Video::~Video() = default;
bool Video::next(Image& frame) { return impl_->next(frame); }
double Video::time() const { return impl_->time; }
double Video::frame_length() const { return impl_->length; }

}  // namespace hub
