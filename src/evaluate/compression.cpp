#include "evaluate/compression.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace chargpt {
namespace {

/// libarchive's 7-Zip writer. It stores the compressed data in a temporary file, and writes it out at the end.
class Ppmd {
 public:
  explicit Ppmd(std::int64_t bytes) : archive_(archive_write_new()) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), archive_entry_free);
    if (!archive_ || !entry) throw std::bad_alloc();
    archive_entry_set_pathname(entry.get(), "text");
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_size(entry.get(), bytes);
    check(archive_write_set_format_7zip(archive_.get()));
    check(archive_write_set_options(archive_.get(), "7zip:compression=ppmd"));
    check(archive_write_open(archive_.get(), &written_, nullptr, keep, nullptr));
    check(archive_write_header(archive_.get(), entry.get()));
  }
  void take(std::string_view text) {
    check(archive_write_data(archive_.get(), text.data(), text.size()) < 0 ? ARCHIVE_FATAL : ARCHIVE_OK);
  }
  /// Byte 12 of the first header contains the distance to the last header: the size of the compressed text.
  std::int64_t finish() {
    check(archive_write_close(archive_.get()));
    return static_cast<std::int64_t>(from_little_endian(std::string_view(written_).substr(12, 8)));
  }

 private:
  struct End {  // for an archive that is incomplete: libarchive would fill the rest with zeros
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
    if (archive_errno(archive_.get()) == ENOMEM) throw std::bad_alloc();
    const char* const why = archive_error_string(archive_.get());
    throw Error(ExitCode::io, "libarchive failed (", why == nullptr ? "no reason given" : why,
                "); set TMPDIR to a folder for temporary files");
  }

  std::string written_;
  std::unique_ptr<archive, End> archive_;
};
}  // namespace

std::int64_t ppmd_bytes(std::string_view text, const Heartbeat& heartbeat) {
  constexpr std::int64_t most = 1 << 16;
  Ppmd compressor(std::ssize(text));
  for (std::int64_t taken = 0; taken < std::ssize(text); beat(heartbeat, taken, std::ssize(text))) {
    const std::string_view piece = text.substr(static_cast<std::size_t>(taken), most);
    compressor.take(piece);
    taken += std::ssize(piece);
  }
  return compressor.finish();
}

}  // namespace chargpt
