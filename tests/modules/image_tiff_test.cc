// TIFF: tests/data/tiff/make.py made the files with Pillow.
#include <catch2/catch.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "modules/image.h"
#include "runtime/import/import.h"
#include "tests/notes.h"

namespace hub {
namespace {

std::string data(const std::string& name) {
  return std::string(HUB_SOURCE_DIR "/tests/data/tiff/") + name;
}

constexpr const char* names[] = {"01_raw",     "02_lzw",    "03_deflate", "04_grey",   "05_fax",
                                 "06_palette", "07_cmyk",   "08_alpha",   "09_grey16", "12_turned",
                                 "13_turned",  "14_turned", "15_turned",  "16_turned", "17_turned",
                                 "18_turned",  "20_pages"};

}  // namespace

TEST_CASE("TIFF files decode to Pillow's pixels") {
  const Tensor wanted = read_npy(MappedFile::open(data("expected.npy")));
  size_t at = 0;
  for (const std::string name : names) {
    Notes notes;
    const Image image = decode_image(read_file(data(name + ".tif")), name, notes);
    INFO(name);
    const bool across = name >= "15" && name < "19";
    CHECK(image.width == (across ? 5 : 7));
    CHECK(image.height == (across ? 7 : 5));
    REQUIRE(at + image.pixels.size() <= static_cast<size_t>(wanted.numel()));
    int most = 0;
    for (const uint8_t v : image.pixels)
      most = std::max(most, std::abs(int{v} - int{wanted.data<uint8_t>()[at++]}));
    CHECK(most <= 1);
    CHECK(notes.text.empty() == (name != "20_pages"));
  }
  CHECK(at == static_cast<size_t>(wanted.numel()));
}

TEST_CASE("a TIFF that is no plain picture, too large or damaged is refused") {
  Silent silent;
  CHECK_THROWS_WITH(decode_image(read_file(data("float.tif")), "float.tif", silent),
                    Catch::Contains("float.tif is a TIFF that cannot be read"));
  CHECK_THROWS_WITH(
      decode_image(read_file(data("01_raw.tif")), "raw.tif", silent, Alpha::on_white, 34),
      Catch::Contains("raw.tif has 7x5 pixels, above the limit"));
  std::mt19937 random(7);
  size_t refused = 0;
  for (const std::string name : names) {
    const std::string whole = read_file(data(name + ".tif"));
    const auto attempt = [&](std::string bytes) {
      bytes.replace(0, 4, whole, 0, 4);
      try {
        decode_image(bytes, name, silent, Alpha::on_white, 1 << 16);
      } catch (const Error&) {
        ++refused;
      }
    };
    for (size_t length = 4; length < whole.size(); length += 7) attempt(whole.substr(0, length));
    for (int i = 0; i < 200; ++i) {
      std::string bytes = whole;
      for (int k = 0; k < 1 + i % 3; ++k)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      attempt(std::move(bytes));
    }
  }
  CHECK(refused > 500);
}

}  // namespace hub
