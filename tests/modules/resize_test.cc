// Resizing against Pillow 13 and OpenCV: the pictures of case M12, and sums of made pictures from
// Pillow itself.
#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.h"
#include "tests/modules/media.h"

using namespace hub;

namespace {

Image made(int width, int height) {
  Image image{.width = width, .height = height, .channels = 3, .pixels = {}};
  uint32_t state = 1;
  for (int i = 0; i < width * height * 3; ++i) {
    state = state * 1664525 + 1013904223;
    image.pixels.push_back((state >> 24) > 127 ? 255 : static_cast<uint8_t>(state >> 24));
  }
  return image;
}

/// Adler-32, as zlib.adler32 of Python.
uint32_t adler(const Image& image) {
  uint32_t a = 1, b = 0;
  for (uint8_t byte : image.pixels) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

}  // namespace

TEST_CASE("shrinking with and without antialias (M12)") {
  const Image stripes = decode_media("stripes64.png");
  CHECK(difference_from("stripes64_to8.pil_bilinear.npy",
                        resize_pillow(stripes, 8, 8, Filter::bilinear)) == 0);
  CHECK(difference_from("stripes64_to8.no_antialias.npy", resize_opencv(stripes, 8, 8)) <= 1);
}

TEST_CASE("Pillow's bytes") {
  struct Row {
    int width, height, to_width, to_height;
    Filter filter;
    uint32_t adler;
  };
  const Row rows[] = {
      {64, 48, 32, 24, Filter::bilinear, 0xd5b59554},
      {64, 48, 32, 24, Filter::bicubic, 0xbbf98f82},
      {64, 48, 32, 24, Filter::lanczos, 0x034e8ae3},
      {64, 48, 32, 24, Filter::box, 0x0c82981c},
      {31, 47, 17, 90, Filter::bilinear, 0x4d8e17e6},
      {31, 47, 17, 90, Filter::bicubic, 0x80db06a2},
      {31, 47, 17, 90, Filter::lanczos, 0x7379f667},
      {31, 47, 17, 90, Filter::box, 0x53ac0659},
      {90, 17, 23, 40, Filter::bilinear, 0xa643a96b},
      {90, 17, 23, 40, Filter::bicubic, 0x865aa7ea},
      {90, 17, 23, 40, Filter::lanczos, 0x7071a6ac},
      {90, 17, 23, 40, Filter::box, 0xc003aa94},
      {100, 200, 80, 20, Filter::bilinear, 0x0365a4ab},
      {100, 200, 80, 20, Filter::bicubic, 0x190aa452},
      {100, 200, 80, 20, Filter::lanczos, 0x853ba467},
      {100, 200, 80, 20, Filter::box, 0x317aa325},
      {200, 100, 20, 80, Filter::bilinear, 0x0db6a502},
      {13, 13, 13, 5, Filter::bicubic, 0x57597ff2},
      {13, 13, 5, 13, Filter::lanczos, 0xc7367f0d},
      {1, 1, 7, 3, Filter::box, 0x221c218e},
      {40, 90, 61, 33, Filter::bilinear, 0x36a69e23},
  };
  for (const Row& row : rows) {
    INFO(row.width << "x" << row.height << " to " << row.to_width << "x" << row.to_height
                   << ", filter " << static_cast<int>(row.filter));
    CHECK(adler(resize_pillow(made(row.width, row.height), row.to_width, row.to_height,
                              row.filter)) == row.adler);
  }
}

TEST_CASE("OpenCV's values") {
  // cv2.resize of the same pictures, INTER_LINEAR.
  const Image image = made(5, 4);
  const std::vector<int> wanted{125, 67,  201, 255, 255, 4,   255, 191, 76,  171, 134, 156, 173,
                                170, 31,  191, 169, 140, 246, 242, 83,  42,  35,  75,  88,  134,
                                242, 255, 159, 108, 73,  137, 168, 93,  139, 255, 245, 71,  136,
                                111, 255, 241, 110, 142, 241, 163, 131, 87,  45,  255, 129, 99,
                                92,  126, 112, 169, 57,  4,   255, 59,  92,  61,  54};
  const Image out = resize_opencv(image, 3, 7);
  REQUIRE(out.pixels.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(wanted[i] - out.pixels[i]) <= 1);
}

TEST_CASE("OpenCV's values with eight taps") {
  // cv2.resize of the same pictures, INTER_LANCZOS4.
  const std::vector<int> wanted{195, 11,  166, 220, 104, 128, 205, 229, 116, 29,  110, 142,
                                107, 46,  70,  212, 255, 255, 160, 76,  173, 211, 220, 56,
                                173, 255, 196, 255, 255, 108, 255, 255, 111, 0,   66,  211,
                                199, 255, 255, 246, 143, 80,  136, 49,  34,  128, 201, 102,
                                67,  213, 47,  154, 221, 76,  191, 255, 210, 176, 19,  201};
  const Image out = resize_opencv_lanczos(made(9, 7), 4, 5);
  REQUIRE(out.pixels.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(wanted[i] - out.pixels[i]) <= 1);
  struct Row {
    int width, height, to_width, to_height;
    uint32_t adler;
  };
  for (const Row& row : {Row{64, 48, 32, 24, 0xc52f72fb}, Row{31, 47, 17, 90, 0xf93adfbc},
                         Row{200, 100, 20, 80, 0x89c35880}}) {
    CHECK(adler(resize_opencv_lanczos(made(row.width, row.height), row.to_width, row.to_height)) ==
          row.adler);
  }
}

TEST_CASE("sizes that make no sense") {
  CHECK_THROWS_AS(resize_pillow(made(2, 2), 0, 4, Filter::box), Error);
  CHECK_THROWS_AS(resize_opencv(made(2, 2), 4, -1), Error);
  CHECK_THROWS_AS(resize_opencv_lanczos(made(2, 2), 0, 4), Error);
}
