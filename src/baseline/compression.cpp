#include "baseline/compression.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr std::int64_t run_tokens = 1 << 16;
using Output = std::array<unsigned char, 1 << 16>;

[[noreturn]] void fail(const std::string& compressor) {
  throw Error(ExitCode::memory, compressor, " could not get the memory for the compression baseline; free some memory");
}

/// Text of ids as bytes, a run at a time, from a table of all symbols.
class TextRuns {
 public:
  explicit TextRuns(const Vocabulary& vocabulary) {
    for (std::int64_t id = 0; id < vocabulary.size(); ++id)
      symbols_.push_back(id == vocabulary.document() ? "\n" : vocabulary.symbol(id));
  }
  template <class Take>
  void each(TokenView ids, Take&& take) const {
    std::vector<std::int64_t> run(run_tokens);
    std::string text;
    for (std::int64_t begin = 0; begin < ids.size(); begin += run_tokens) {
      const std::int64_t count = std::min(run_tokens, ids.size() - begin);
      ids.copy(begin, count, run.data());
      text.clear();
      for (std::int64_t i = 0; i < count; ++i)
        text += symbols_[static_cast<std::size_t>(run[static_cast<std::size_t>(i)])];
      take(text);
    }
  }

 private:
  std::vector<std::string> symbols_;
};

class Gzip {
 public:
  Gzip() {
    constexpr int level = 9, largest_window = 15, gzip_format = 16, memory = 8;
    if (deflateInit2(&stream_, level, Z_DEFLATED, largest_window + gzip_format, memory, Z_DEFAULT_STRATEGY) != Z_OK)
      fail("gzip");
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { deflateEnd(&stream_); }

  void take(std::string& text) { run(text, Z_NO_FLUSH); }
  std::int64_t finish() {
    std::string nothing;
    run(nothing, Z_FINISH);
    return written_;
  }

 private:
  void run(std::string& text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<uInt>(output_.size());
      deflate(&stream_, flush);
      written_ += static_cast<std::int64_t>(output_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  Output output_;
  std::int64_t written_ = 0;
};

class Xz {
 public:
  /// `bytes`: of the text to come; a dictionary larger than it costs memory and finds nothing more.
  explicit Xz(std::uint64_t bytes) {
    lzma_options_lzma options;
    if (lzma_lzma_preset(&options, 9 | LZMA_PRESET_EXTREME)) fail("xz");
    const std::uint64_t enough = std::bit_ceil(std::max<std::uint64_t>(bytes, 1 << 16));
    options.dict_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.dict_size, enough));
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
    if (lzma_stream_encoder(&stream_, filters, LZMA_CHECK_CRC64) != LZMA_OK) fail("xz");
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() { lzma_end(&stream_); }

  void take(const std::string& text) { run(text, LZMA_RUN); }
  std::int64_t finish() {
    run({}, LZMA_FINISH);
    return static_cast<std::int64_t>(stream_.total_out);
  }

 private:
  void run(const std::string& text, lzma_action action) {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
    stream_.avail_in = text.size();
    lzma_ret result = LZMA_OK;
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = output_.size();
      result = lzma_code(&stream_, action);
      if (result != LZMA_OK && result != LZMA_STREAM_END) fail("xz");
    } while (result == LZMA_OK && (stream_.avail_in > 0 || action == LZMA_FINISH));
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  Output output_;
};

}  // namespace

std::int64_t gzip_bytes(const Vocabulary& vocabulary, TokenView ids, const Heartbeat& heartbeat) {
  Gzip gzip;
  std::int64_t taken = 0;
  TextRuns(vocabulary).each(ids, [&](std::string& text) {
    gzip.take(text);
    taken += run_tokens;
    if (heartbeat) heartbeat(std::min(1.0, static_cast<double>(taken) / static_cast<double>(ids.size())));
  });
  return gzip.finish();
}

std::int64_t xz_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts, const Heartbeat& heartbeat) {
  const TextRuns runs(vocabulary);
  std::uint64_t bytes = 0;
  for (const TokenView part : parts) runs.each(part, [&bytes](const std::string& text) { bytes += text.size(); });
  Xz xz(bytes);
  std::uint64_t taken = 0;
  for (const TokenView part : parts)
    runs.each(part, [&](const std::string& text) {
      xz.take(text);
      taken += text.size();
      if (heartbeat) heartbeat(static_cast<double>(taken) / static_cast<double>(bytes));
    });
  return xz.finish();
}

}  // namespace chargpt
