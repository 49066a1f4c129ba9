// SPDX-License-Identifier: Apache-2.0
#include "live/gzip.h"

#include <zlib.h>

#include <array>
#include <new>

namespace memlog {
namespace {

constexpr int kGzipWrapper = 16;  // added to the window's bits
constexpr int kLevel = 6;

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib reads, and is not const-correct
}

}  // namespace

struct GzipStream::State {
  z_stream stream{};
};

GzipStream::GzipStream(bool is_small) : state_(std::make_unique<State>()) {
  const int window_bits = is_small ? 12 : 15;
  const int memory_level = is_small ? 5 : 8;
  if (deflateInit2(&state_->stream, kLevel, Z_DEFLATED, window_bits + kGzipWrapper, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

GzipStream::GzipStream(GzipStream&&) noexcept = default;

GzipStream::~GzipStream() {
  if (state_ != nullptr) deflateEnd(&state_->stream);
}

std::string GzipStream::run(std::string_view bytes, int flush) {
  std::string packed;
  std::array<Bytef, 16384> piece{};
  z_stream& stream = state_->stream;
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  do {
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    deflate(&stream, flush);
    packed.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
  } while (stream.avail_out == 0);
  return packed;
}

std::string GzipStream::add(std::string_view bytes) { return run(bytes, Z_SYNC_FLUSH); }

std::string GzipStream::finish() { return run({}, Z_FINISH); }

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, 15 + kGzipWrapper, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return code == Z_STREAM_END ? packed : "";
}

std::string gunzip(std::string_view packed, size_t most_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + kGzipWrapper) != Z_OK) return "";
  std::string bytes;
  std::array<Bytef, 16384> piece{};
  stream.next_in = bytes_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  int code = Z_OK;
  while (code == Z_OK && bytes.size() <= most_bytes) {
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    code = inflate(&stream, Z_NO_FLUSH);
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END ? bytes : "";
}

}  // namespace memlog
