// SPDX-License-Identifier: Apache-2.0
// The pictures' real pixels: decoded again, and looked at where the data say something must be, or must not.
#include "render/png.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>
#include <set>

#include "render/png_file.h"
#include "support/timelines.h"

namespace memlog {
namespace {

using ::testing::HasSubstr;

struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> pixels;  // 0xRRGGBB
  uint32_t at(int x, int y) const {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

uint32_t big_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t at = 0; at < 4; ++at) value = value << 8 | static_cast<unsigned char>(bytes[at]);
  return value;
}

// Reads what memlog writes: no filter, palette or RGB. Checks every chunk's CRC.
Image decode(std::string_view file) {
  Image image;
  std::string packed;
  std::string_view palette;
  int channels = 0;
  EXPECT_EQ(file.substr(0, 8), std::string_view("\x89PNG\r\n\x1a\n", 8));
  for (size_t at = 8; at < file.size();) {
    const size_t size = big_endian(file.substr(at));
    const std::string_view type = file.substr(at + 4, 4);
    const std::string_view body = file.substr(at + 8, size);
    EXPECT_EQ(big_endian(file.substr(at + 8 + size)),
              crc32(0, reinterpret_cast<const Bytef*>(type.data()), static_cast<uInt>(size + 4)));
    if (type == "IHDR") {
      image.width = static_cast<int>(big_endian(body));
      image.height = static_cast<int>(big_endian(body.substr(4)));
      channels = body[9] == 3 ? 1 : 3;
    } else if (type == "PLTE") {
      palette = body;
    } else if (type == "IDAT") {
      packed += body;
    }
    at += 12 + size;
  }
  const size_t row = 1 + static_cast<size_t>(image.width) * static_cast<size_t>(channels);
  std::string raw(row * static_cast<size_t>(image.height), '\0');
  uLongf raw_size = raw.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(raw.data()), &raw_size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_EQ(raw_size, raw.size());
  for (int y = 0; y < image.height; ++y) {
    const char* line = raw.data() + row * static_cast<size_t>(y);
    EXPECT_EQ(line[0], 0);
    for (int x = 0; x < image.width; ++x) {
      const size_t place = 1 + static_cast<size_t>(x) * static_cast<size_t>(channels);
      const char* colour =
          channels == 1 ? palette.data() + size_t{3} * static_cast<unsigned char>(line[place]) : line + place;
      image.pixels.push_back(static_cast<uint32_t>(static_cast<unsigned char>(colour[0])) << 16 |
                             static_cast<uint32_t>(static_cast<unsigned char>(colour[1])) << 8 |
                             static_cast<unsigned char>(colour[2]));
    }
  }
  return image;
}

uint32_t packed_colour(Colour colour) {
  return static_cast<uint32_t>(colour.red) << 16 | static_cast<uint32_t>(colour.green) << 8 | colour.blue;
}

// Columns that hold any pixel of exactly that colour within those rows.
std::set<int> columns_with(const Image& image, Colour colour, int top, int bottom) {
  std::set<int> columns;
  for (int y = top; y < bottom; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.at(x, y) == packed_colour(colour)) columns.insert(x);
    }
  }
  return columns;
}

class Png : public ::testing::Test {
 protected:
  static Image draw(const Timeline& timeline, const ChartOptions& options = {}) {
    const Result<std::string> png = render_png(std::span(&timeline, 1), options);
    if (!png.ok()) {
      ADD_FAILURE() << png.error().doing << ": " << png.error().reason;
      return {};
    }
    return decode(*png);
  }
};

TEST_F(Png, IsAsLargeAsAsked) {
  ChartOptions options;
  options.width = 700;
  options.height = 400;
  options.scale = 2;
  const Image image = draw(testing::oom_scene(), options);
  EXPECT_EQ(image.width, 1400);
  EXPECT_EQ(image.height, 800);
}

TEST_F(Png, NoLinePixelLiesInAGap) {
  const Image image = draw(testing::gap_scene());
  // The line at 200 MiB; the legend's swatch lies above it.
  const std::set<int> columns = columns_with(image, style_of(Theme::light).series[0], 300, 400);
  ASSERT_FALSE(columns.empty());
  EXPECT_LT(*columns.rbegin(), image.width / 3);
}

TEST_F(Png, ASpikeIsSeenAtItsColumn) {
  const Image image = draw(testing::spike_scene());
  // Halfway up between 100 MiB and 9 GiB nothing is drawn but the spike, at 1234 of 2000 of the time.
  std::set<int> columns;
  const uint32_t plot = packed_colour(style_of(Theme::light).plot);
  const uint32_t grid = packed_colour(style_of(Theme::light).grid);
  for (int x = 100; x < 1320; ++x) {
    if (image.at(x, 620) != plot && image.at(x, 620) != grid) columns.insert(x);
  }
  ASSERT_FALSE(columns.empty());
  EXPECT_LT(*columns.rbegin() - *columns.begin(), 5);
  EXPECT_NEAR(*columns.begin(), 100 + 1234.0 / 2000 * 1215, 12);
}

TEST_F(Png, EverySceneIsDrawnInBothThemesOnItsBackground) {
  for (const testing::Scene& scene : testing::scenes()) {
    for (const Theme theme : {Theme::light, Theme::dark}) {
      ChartOptions options;
      options.theme = theme;
      const Result<std::string> png = render_png(scene.timelines, options);
      ASSERT_TRUE(png.ok()) << scene.name;
      const Image image = decode(*png);
      EXPECT_EQ(image.at(0, 0), packed_colour(style_of(theme).background)) << scene.name;
      EXPECT_GT(std::set<uint32_t>(image.pixels.begin(), image.pixels.end()).size(), 5U) << scene.name;
      EXPECT_LT(png->size(), 600'000U) << scene.name;
    }
  }
}

TEST_F(Png, AllZeroSamplesAreALineAtTheBottom) {
  const Timeline zero = testing::timeline(
      {testing::process(1, 7, "a", {testing::raw_series("rss_bytes", std::vector<int64_t>(100, 0))})}, 99);
  const Image image = draw(zero);
  EXPECT_GT(columns_with(image, style_of(Theme::light).series[0], image.height * 8 / 10, image.height).size(),
            900U);
}

TEST_F(Png, ImpossibleSizesAreRefusedWithTheLimit) {
  ChartOptions options;
  const Timeline any = testing::gap_scene();
  for (const auto& [width, height, scale] : {std::tuple{40000, 100, 1.0},
                                             {1600, 40000, 1.0},
                                             {1600, 1000, 100.0},
                                             {10, 1000, 1.0},
                                             {-5, 1000, 1.0},
                                             {1600, 1000, 0.0},
                                             {32000, 32000, 1.0}}) {
    options.width = width;
    options.height = height;
    options.scale = scale;
    EXPECT_FALSE(render_png(std::span(&any, 1), options).ok()) << width << " " << height << " " << scale;
  }
  options = {};
  options.width = 40000;
  EXPECT_THAT(check_size(options, 1).error().reason, HasSubstr("at most 32767 pixels"));
}

TEST(PngFile, MoreThanAPalettesColoursStayWithinAFewShades) {
  std::vector<uint32_t> pixels(size_t{256} * 256);
  for (size_t at = 0; at < pixels.size(); ++at) pixels[at] = static_cast<uint32_t>(at * 7919 % 0xffffff);
  const auto png = encode_png(reinterpret_cast<const unsigned char*>(pixels.data()), 256, 256, 1024);
  ASSERT_TRUE(png.ok());
  EXPECT_EQ(decode(*png).pixels, pixels);  // far more colours: RGB, exact
}

TEST(PngFile, AFewColoursAreExact) {
  const std::vector<uint32_t> pixels = {0xff0000, 0x00ff00, 0x0000ff, 0x123456, 0xff0000, 0xffffff};
  const auto png = encode_png(reinterpret_cast<const unsigned char*>(pixels.data()), 3, 2, 12);
  ASSERT_TRUE(png.ok());
  EXPECT_EQ(decode(*png).pixels, pixels);
}

}  // namespace
}  // namespace memlog
