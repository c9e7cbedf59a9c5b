#include "baseline/compression.h"

#include <lzma.h>
#include <zlib.h>
#if CHARGPT_PPMD
#include <archive.h>
#include <archive_entry.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace chargpt {
namespace {

constexpr const char* between_documents = "\xFF";  ///< no byte of UTF-8: a symbol of its own, as it is to a model
using Output = std::array<unsigned char, 1 << 16>;

[[noreturn]] void fail(const std::string& compressor) {
  throw Error(ExitCode::memory, compressor, " could not get the memory for the compression baseline; free some memory");
}

/// The bytes of each id.
std::vector<std::string> symbols_of(const Vocabulary& vocabulary) {
  std::vector<std::string> symbols;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    symbols.push_back(id == vocabulary.document() ? between_documents : vocabulary.symbol(id));
  return symbols;
}

/// take(bytes) for all texts, a run at a time.
template <class Take>
void each_run(const std::vector<TokenView>& texts, const std::vector<std::string>& symbols, const Take& take) {
  std::string bytes;
  for (const TokenView ids : texts)
    ids.each_run([&](std::span<const std::int64_t> run) {
      bytes.clear();
      for (const std::int64_t id : run) bytes += symbols[static_cast<std::size_t>(id)];
      take(bytes);
    });
}

class Gzip {
 public:
  explicit Gzip(std::int64_t /*bytes*/) {
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
  explicit Xz(std::int64_t bytes) {
    lzma_options_lzma options;
    if (lzma_lzma_preset(&options, 9 | LZMA_PRESET_EXTREME)) fail("xz");
    const std::uint64_t enough = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1 << 16)));
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

#if CHARGPT_PPMD
/// libarchive's 7-Zip writer. It keeps what it has compressed in a temporary file, and writes it out at the end.
class Ppmd {
 public:
  explicit Ppmd(std::int64_t bytes) : archive_(archive_write_new()) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), archive_entry_free);
    if (!archive_ || !entry) fail("PPMd");
    archive_entry_set_pathname(entry.get(), "text");
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_size(entry.get(), bytes);
    check(archive_write_set_format_7zip(archive_.get()));
    check(archive_write_set_options(archive_.get(), "7zip:compression=ppmd"));
    check(archive_write_open(archive_.get(), &written_, nullptr, keep, nullptr));
    check(archive_write_header(archive_.get(), entry.get()));
  }
  void take(const std::string& text) {
    check(archive_write_data(archive_.get(), text.data(), text.size()) < 0 ? ARCHIVE_FATAL : ARCHIVE_OK);
  }
  /// The format's first header says at byte 12 how far behind it the last one is: what lies between is the text.
  std::int64_t finish() {
    check(archive_write_close(archive_.get()));
    return static_cast<std::int64_t>(from_little_endian(std::string_view(written_).substr(12, 8)));
  }

 private:
  struct End {  // also of one that is not whole, whose rest libarchive would fill with zeros
    void operator()(archive* unfinished) const {
      archive_write_fail(unfinished);
      archive_write_free(unfinished);
    }
  };
  static la_ssize_t keep(archive*, void* written, const void* bytes, std::size_t count) {
    static_cast<std::string*>(written)->append(static_cast<const char*>(bytes), count);
    return static_cast<la_ssize_t>(count);
  }
  void check(int result) const {
    if (result >= ARCHIVE_WARN) return;
    const char* const why = archive_error_string(archive_.get());
    throw Error(ExitCode::io, "libarchive failed (", why == nullptr ? "no reason given" : why,
                "); it needs a folder for a temporary file (TMPDIR)");
  }

  std::string written_;
  std::unique_ptr<archive, End> archive_;
};
#else
class Ppmd {
 public:
  explicit Ppmd(std::int64_t) { throw Error(ExitCode::unavailable, "this program was built without libarchive"); }
  void take(const std::string&) {}
  std::int64_t finish() { return 0; }
};
#endif

template <class Compressor>
std::int64_t compressed(const Vocabulary& vocabulary, const std::vector<TokenView>& parts, const Heartbeat& heartbeat) {
  const std::vector<std::string> symbols = symbols_of(vocabulary);
  std::int64_t bytes = 0, taken = 0;
  each_run(parts, symbols, [&bytes](const std::string& text) { bytes += std::ssize(text); });
  Compressor compressor(bytes);
  each_run(parts, symbols, [&](std::string& text) {
    compressor.take(text);
    taken += std::ssize(text);
    beat(heartbeat, taken, bytes);
  });
  return compressor.finish();
}

}  // namespace

std::int64_t gzip_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts, const Heartbeat& heartbeat) {
  return compressed<Gzip>(vocabulary, parts, heartbeat);
}

std::int64_t xz_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts, const Heartbeat& heartbeat) {
  return compressed<Xz>(vocabulary, parts, heartbeat);
}

std::int64_t ppmd_bytes(const Vocabulary& vocabulary, const std::vector<TokenView>& parts, const Heartbeat& heartbeat) {
  return compressed<Ppmd>(vocabulary, parts, heartbeat);
}

bool has_ppmd() {
  return CHARGPT_PPMD != 0;
}

}  // namespace chargpt
