#include "text/text_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

Descriptor opened(const std::filesystem::path& path, int more = 0) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | more));
  if (file.number() < 0) fail_on("read", path, errno);
  return file;
}

/// The next bytes, into `piece`: none yet (nullopt, after a tenth of a second), or 0 at the end.
std::optional<std::size_t> wait_for_some(const Descriptor& pipe, std::span<char> piece, const std::string& name) {
  struct pollfd waiting = {.fd = pipe.number(), .events = POLLIN, .revents = 0};
  const int ready = ::poll(&waiting, 1, /*milliseconds=*/100);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return std::nullopt;
  const ssize_t count = ready < 0 ? -1 : ::read(pipe.number(), piece.data(), piece.size());
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno != EINTR && errno != EAGAIN) fail_on("read", name, errno);
  return std::nullopt;
}

/// Read to its end, without waiting for a writer.
TextSource all_of(const Descriptor& pipe, const std::string& name, std::uint64_t max_bytes, const ByteNote& note) {
  std::string bytes, piece(piece_bytes, '\0');
  while (true) {
    if (note) note(bytes.size());
    const std::optional<std::size_t> count = wait_for_some(pipe, piece, name);
    if (count == 0U) return TextSource::in_memory(name, std::move(bytes));
    if (count.value_or(0) > max_bytes - bytes.size())
      throw Error(ExitCode::data, name, " is larger than ", max_bytes,
                  " bytes, the limit for what can be read only once; write it into a file and give that");
    bytes.append(piece, 0, count.value_or(0));
  }
}

}  // namespace

TextSource TextSource::in_memory(std::string name, std::string bytes) {
  return {.name = std::move(name), .bytes = std::make_shared<const std::string>(std::move(bytes))};
}

TextSource TextSource::pipe(const std::filesystem::path& path, std::uint64_t max_bytes, const ByteNote& note) {
  return all_of(opened(path, O_NONBLOCK), printable_path(path), max_bytes, note);
}

TextSource TextSource::standard_input(std::uint64_t max_bytes, const ByteNote& note) {
  const Descriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (input.number() < 0) fail_on("read", "standard input", errno);
  return all_of(input, "standard input", max_bytes, note);
}

TextSource TextSource::file(const std::filesystem::path& path) {
  return {.name = printable_path(path), .path = path};
}

TextReader::TextReader(const TextSource& source) : source_(source) {
  if (source_.bytes) {
    first_piece_ = *source_.bytes;
  } else {
    file_ = opened(source_.path);
    // No more than a small file needs, as there may be thousands of them; one byte more tells where it ends. A file may
    // grow, and one of /proc has no size.
    piece_.resize(std::clamp<std::uint64_t>(file_size(*file_, source_.path) + 1, 4096, piece_bytes));
    first_piece_ = read_piece(0);
  }
  if (!first_piece_.starts_with(byte_order_mark)) return;
  skipped_ = byte_order_mark.size();
  first_piece_.remove_prefix(byte_order_mark.size());
}

std::string_view TextReader::next(std::size_t kept) {
  if (!std::exchange(started_, true)) return first_piece_;
  return file_ ? read_piece(kept) : first_piece_.substr(first_piece_.size() - kept);
}

std::string_view TextReader::read_piece(std::size_t kept) {
  std::copy(piece_.data() + (piece_size_ - kept), piece_.data() + piece_size_, piece_.data());
  const std::size_t count = read_some(*file_, std::span(piece_).subspan(kept), source_.path);
  piece_size_ = kept + count;
  if (source_.note) source_.note(count);
  return {piece_.data(), piece_size_};
}

std::optional<FileKind> kind_of(const TextSource& source) {
  return kind_of_file(TextReader(source).next());
}

std::string_view sample_text() {
  return embedded_file("data/sample.txt");
}

}  // namespace chargpt
