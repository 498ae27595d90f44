// Decoding: what the media of the case log should become (M01 to M14), and refusals of what is no
// picture.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/modules/media.h"
#include "tests/notes.h"

using namespace hub;

namespace {

std::string refusal(const std::string& bytes, const std::string& name,
                    int64_t max_pixels = 89'478'485) {
  Silent silent;
  try {
    decode_image(bytes, name, silent, Alpha::on_white, max_pixels);
  } catch (const Error& e) {
    CHECK(e.code() == Code::refused);
    return e.what();
  }
  return "accepted";
}

std::string little(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
  return out;
}

/// A 2x2 BMP: rows (bottom first) of blue, green; red, white.
std::string bmp(int bits, int32_t height = 2, uint32_t compression = 0) {
  const uint32_t palette = bits == 8 ? 4 * 4 : 0, begin = 54 + palette;
  std::string out = "BM" + little(0, 8) + little(begin, 4) + little(40, 4) + little(2, 4) +
                    little(static_cast<uint32_t>(height), 4) + little(1, 2) +
                    little(static_cast<uint32_t>(bits), 2) + little(compression, 4) +
                    little(0, 12) + little(bits == 8 ? 4 : 0, 4) + little(0, 4);
  const std::string colors[] = {
      {'\xff', 0, 0}, {0, '\xff', 0}, {0, 0, '\xff'}, {'\xff', '\xff', '\xff'}};
  if (bits == 8) {
    for (const auto& color : colors) out += color + '\0';
    return out + little(0x0100, 4) + little(0x0302, 4);
  }
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x)
      out += colors[2 * y + x] + (bits == 32 ? std::string(1, '\x7f') : "");
    if (bits == 24) out += little(0, 2);
  }
  return out;
}

}  // namespace

TEST_CASE("pictures decode to the values of the case log") {
  struct Row {
    std::string file, wanted;
    int tolerance;
  };
  for (const Row& row : std::vector<Row>{{"exif_1.jpg", "exif_1.expected.npy", 3},
                                         {"exif_2.jpg", "exif_2.expected.npy", 3},
                                         {"exif_3.jpg", "exif_3.expected.npy", 3},
                                         {"exif_4.jpg", "exif_4.expected.npy", 3},
                                         {"exif_6.jpg", "exif_6.expected.npy", 3},
                                         {"gray1.png", "gray1.expected.npy", 0},
                                         {"gray16.png", "gray16.expected.npy", 1},
                                         {"rgba_garbage.png", "rgba_garbage.on_white.npy", 1},
                                         {"cmyk_adobe.jpg", "cmyk_adobe.expected.npy", 3},
                                         {"cmyk_no_adobe.jpg", "cmyk_no_adobe.expected.npy", 3}}) {
    INFO(row.file);
    CHECK(difference_from(row.wanted, decode_media(row.file)) <= row.tolerance);
  }
  CHECK(difference_from("rgba_garbage.alpha_dropped.npy",
                        decode_media("rgba_garbage.png", Alpha::drop)) <= 1);
}

TEST_CASE("an invalid orientation leaves the picture as it is stored") {
  const Image image = decode_media("exif_0_invalid.jpg");
  CHECK(image.width == 48);
  CHECK(image.height == 16);
}

TEST_CASE("content decides, not the name") {
  CHECK(decode_media("png_named.jpg").width == 64);
  CHECK_THAT(refusal(read_file(media_path("text_named.jpg")), "text_named.jpg"),
             Catch::StartsWith("text_named.jpg is not an image"));
  CHECK_THAT(refusal("", "zero_bytes.jpg"), Catch::Contains("is empty"));
  CHECK_THAT(refusal("BMW is a car", "car.bmp"), Catch::Contains("car.bmp is not an image"));
}

TEST_CASE("an animation gives its first frame and a note") {
  Notes notes;
  const Image image = decode_image(read_file(media_path("anim3.gif")), "anim3.gif", notes);
  CHECK(std::vector<uint8_t>(image.pixels.begin(), image.pixels.begin() + 3) ==
        std::vector<uint8_t>{250, 10, 10});
  CHECK_THAT(notes.text, Catch::Contains("anim3.gif") && Catch::Contains("3 frames"));
}

TEST_CASE("truncated pictures are refused by name") {
  for (const char* name : {"exif_1.jpg", "solid_200_100_50.png", "stripes64.png", "anim3.gif"}) {
    const std::string bytes = read_file(media_path(name));
    const size_t first = std::string(name) == "anim3.gif" ? 40 : bytes.size() * 6 / 10;
    for (size_t size = first; size > 12; --size) {
      INFO(name << " cut at " << size);
      CHECK_THAT(refusal(bytes.substr(0, size), name), Catch::StartsWith(name));
    }
  }
  CHECK_THAT(refusal(read_file(media_path("truncated_60pct.jpg")), "cut.jpg"),
             Catch::Contains("cut.jpg is truncated"));
  CHECK_THAT(refusal(bmp(24).substr(0, 60), "cut.bmp"), Catch::Contains("truncated"));
}

TEST_CASE("the pixel limit is checked before decoding") {
  for (const char* name : {"png_named.jpg", "exif_1.jpg", "anim3.gif"}) {
    CHECK_THAT(refusal(read_file(media_path(name)), name, 63),
               Catch::Contains("above the limit of 63"));
  }
  // Only the header of a PNG of 30000 x 30000: decoding would fail for another reason.
  const std::string header = read_file(media_path("bomb_header.png"));
  CHECK_THAT(refusal(header, "bomb.png"), Catch::Contains("30000x30000"));
}

TEST_CASE("BMP of 8, 24 and 32 bits, from the bottom and from the top") {
  const std::vector<uint8_t> down{255, 0, 0, 255, 255, 255, 0, 0, 255, 0, 255, 0};
  const std::vector<uint8_t> up{0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255};
  Silent silent;
  for (int bits : {8, 24, 32}) {
    CHECK(decode_image(bmp(bits), "a.bmp", silent).pixels == down);
    CHECK(decode_image(bmp(bits, -2), "a.bmp", silent).pixels == up);
  }
  CHECK_THAT(refusal(bmp(8, 2, 1), "rle.bmp"), Catch::Contains("compression 1"));
  CHECK_THAT(refusal(bmp(24, 0), "flat.bmp"), Catch::Contains("2x0"));
}

TEST_CASE("PNG out and in again") {
  Silent silent;
  for (int channels : {1, 3, 4}) {
    Image image{.width = 5, .height = 3, .channels = channels, .pixels = {}};
    for (int i = 0; i < 15 * channels; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 37));
    const Image back = decode_image(encode_png(image), "a.png", silent, Alpha::drop);
    for (int i = 0; i < 45; ++i) {
      const int from = channels == 1 ? i / 3 : i / 3 * channels + i % 3;
      CHECK(back.pixels[i] == image.pixels[from]);
    }
  }
}

TEST_CASE("crop stays inside") {
  const Image image = decode_media("exif_1.jpg");
  const Image part = crop(image, 40, 30, 8, 2);
  CHECK(part.row(1)[3] == image.row(31)[3 * 41]);
  CHECK_THROWS_AS(crop(image, 41, 30, 8, 2), Error);
  CHECK_THROWS_AS(crop(image, -1, 0, 8, 2), Error);
}
