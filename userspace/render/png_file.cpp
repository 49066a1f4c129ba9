// SPDX-License-Identifier: Apache-2.0
#include "render/png_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace memlog {
namespace {

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void append_chunk(std::string& out, const char* type, const std::string& body) {
  append_u32(out, static_cast<uint32_t>(body.size()));
  const size_t start = out.size();
  out += type;
  out += body;
  append_u32(out, static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(out.data() + start),
                                              static_cast<uInt>(out.size() - start))));
}

uint32_t pixel_at(const unsigned char* row, int x) {
  uint32_t pixel = 0;
  std::memcpy(&pixel, row + static_cast<size_t>(x) * 4, sizeof pixel);
  return pixel & 0xffffffU;
}

// A palette of at most 256 colours for an image. Charts have few colours and many shades between them along
// smoothed edges: where there are too many, the most frequent colours stay exact and the other shades become one
// where they agree in their upper bits.
class Palette {
 public:
  // Neighbours mostly have one colour: that case is a comparison.
  void count(const unsigned char* row, int width) {
    for (int x = 0; x < width; ++x) {
      const uint32_t colour = pixel_at(row, x);
      if (count_ == nullptr || colour != last_) {
        count_ = &counts_[colour];
        last_ = colour;
      }
      ++*count_;
    }
  }

  // False where even coarse shades are too many.
  bool choose() {
    std::vector<std::pair<uint32_t, int64_t>> colours(counts_.begin(), counts_.end());
    std::sort(colours.begin(), colours.end(), [](const auto& left, const auto& right) {
      return left.second != right.second ? left.second > right.second : left.first < right.first;
    });
    for (const uint32_t mask : {0xffffffU, 0xfcfcfcU, 0xf8f8f8U, 0xf0f0f0U, 0xe0e0e0U}) {
      if (choose(colours, mask)) return true;
    }
    return false;
  }

  void map(const unsigned char* row, int width, unsigned char* out) const {
    uint32_t last = ~pixel_at(row, 0);
    unsigned char index = 0;
    for (int x = 0; x < width; ++x) {
      const uint32_t colour = pixel_at(row, x);
      if (colour != last) {
        index = index_.find(colour)->second;
        last = colour;
      }
      *out++ = index;
    }
  }

  std::string bytes() const {
    std::string bytes;
    for (const uint32_t colour : entries_) {
      for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(colour >> shift));
    }
    return bytes;
  }

 private:
  static constexpr size_t kExact = 96;

  // `colours` by falling frequency: the first of those that share an entry gives it its colour.
  bool choose(const std::vector<std::pair<uint32_t, int64_t>>& colours, uint32_t mask) {
    index_.clear();
    entries_.clear();
    std::unordered_map<uint32_t, unsigned char> shades;
    for (const auto& [colour, count] : colours) {
      const auto next = static_cast<unsigned char>(entries_.size());
      const auto [found, is_new] = shades.try_emplace(colour & mask, next);
      if (is_new || entries_.size() < kExact) {
        if (entries_.size() == 256) return false;
        entries_.push_back(colour);
        index_[colour] = next;
      } else {
        index_[colour] = found->second;
      }
    }
    return true;
  }

  std::unordered_map<uint32_t, int64_t> counts_;
  int64_t* count_ = nullptr;
  uint32_t last_ = 0;
  std::unordered_map<uint32_t, unsigned char> index_;
  std::vector<uint32_t> entries_;
};

// Compresses row by row into the IDAT body.
class Deflater {
 public:
  Deflater() { is_ready_ = deflateInit2(&stream_, 1, Z_DEFLATED, 15, 9, Z_DEFAULT_STRATEGY) == Z_OK; }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  bool add(const unsigned char* bytes, size_t count, bool is_last) {
    if (!is_ready_) return false;
    stream_.next_in = const_cast<Bytef*>(bytes);
    stream_.avail_in = static_cast<uInt>(count);
    int status = Z_OK;
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      status = deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      if (status == Z_STREAM_ERROR) return false;
      body_.append(reinterpret_cast<const char*>(buffer_.data()), buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0 || (is_last && status != Z_STREAM_END));
    return true;
  }
  const std::string& body() const { return body_; }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
  std::array<Bytef, 65536> buffer_{};
  std::string body_;
};

// Filter "None" before each row: rows of indices repeat as they are, and zlib finds the row above.
bool deflate_rows(Deflater& deflater, const std::vector<unsigned char>& image, size_t row_bytes, int height) {
  const unsigned char filter = 0;
  for (int y = 0; y < height; ++y) {
    const unsigned char* row = image.data() + static_cast<size_t>(y) * row_bytes;
    if (!deflater.add(&filter, 1, false) || !deflater.add(row, row_bytes, y + 1 == height)) return false;
  }
  return true;
}

bool fill_indexed(const unsigned char* pixels, int width, int height, int stride, Palette& palette,
                  std::vector<unsigned char>& image) {
  const auto row = [&](int y) { return pixels + static_cast<size_t>(y) * static_cast<size_t>(stride); };
  for (int y = 0; y < height; ++y) palette.count(row(y), width);
  if (!palette.choose()) return false;
  image.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    palette.map(row(y), width, image.data() + static_cast<size_t>(y) * static_cast<size_t>(width));
  }
  return true;
}

void fill_rgb(const unsigned char* pixels, int width, int height, int stride,
              std::vector<unsigned char>& image) {
  image.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  unsigned char* out = image.data();
  for (int y = 0; y < height; ++y) {
    const unsigned char* row = pixels + static_cast<size_t>(y) * static_cast<size_t>(stride);
    for (int x = 0; x < width; ++x) {
      const uint32_t pixel = pixel_at(row, x);
      *out++ = static_cast<unsigned char>(pixel >> 16);
      *out++ = static_cast<unsigned char>(pixel >> 8);
      *out++ = static_cast<unsigned char>(pixel);
    }
  }
}

}  // namespace

Result<std::string> encode_png(const unsigned char* pixels, int width, int height, int stride_bytes,
                               int pixels_per_metre) {
  Palette palette;
  std::vector<unsigned char> image;
  const bool is_indexed = fill_indexed(pixels, width, height, stride_bytes, palette, image);
  if (!is_indexed) fill_rgb(pixels, width, height, stride_bytes, image);
  Deflater deflater;
  if (!deflate_rows(deflater, image, static_cast<size_t>(width) * (is_indexed ? 1 : 3), height)) {
    return Error{"compressing the picture", "zlib failed", "", 0};
  }
  std::string file("\x89PNG\r\n\x1a\n", 8);
  std::string header;
  append_u32(header, static_cast<uint32_t>(width));
  append_u32(header, static_cast<uint32_t>(height));
  header += {8, static_cast<char>(is_indexed ? 3 : 2), 0, 0, 0};
  append_chunk(file, "IHDR", header);
  if (pixels_per_metre > 0) {
    std::string density;
    append_u32(density, static_cast<uint32_t>(pixels_per_metre));
    append_u32(density, static_cast<uint32_t>(pixels_per_metre));
    density.push_back(1);
    append_chunk(file, "pHYs", density);
  }
  if (is_indexed) append_chunk(file, "PLTE", palette.bytes());
  append_chunk(file, "IDAT", deflater.body());
  append_chunk(file, "IEND", "");
  return file;
}

}  // namespace memlog
