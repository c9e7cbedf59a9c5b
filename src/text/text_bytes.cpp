#include "text/text_bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/embedded.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

constexpr std::uint64_t most_read_once = std::uint64_t{1} << 30;

/// Waits a tenth of a second for bytes to read or the end of the file; false if neither came.
bool is_ready(const Descriptor& file) {
  struct pollfd waiting = {.fd = file.number(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, /*milliseconds=*/100) > 0;
}

/// Reads to the end. `expected`: bytes to reserve, at most 4 GB, because a sparse file can claim any size.
std::string read_all(const Descriptor& file, const std::string& name, std::uint64_t expected, std::uint64_t most,
                     const Heartbeat& heartbeat) {
  std::string bytes;
  bytes.reserve(std::min(expected, std::uint64_t{4} << 30));
  std::array<char, 1 << 16> piece;
  for (bool ended = false; !ended;) {
    const bool ready = is_ready(file);
    const std::size_t count = ready ? read_some(file, piece, name) : 0;
    ended = ready && count == 0;
    if (count > most - bytes.size())
      throw Error(ExitCode::data, name, " is larger than ", most,
                  " bytes, the limit for what can be read only once; write it into a file and give that");
    bytes.append(piece.data(), count);
    if (expected > 0)
      beat(heartbeat, static_cast<std::int64_t>(std::min(bytes.size(), expected)), static_cast<std::int64_t>(expected));
    else
      beat(heartbeat, 0, 1);
  }
  return bytes;
}

/// Opens and reads a path. O_NONBLOCK: opening a pipe must not wait for its writer.
std::string read_path(const TextFile& file, const std::string& name, const Heartbeat& heartbeat) {
  const Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.number() < 0) fail_on("read", file.path, errno);
  return read_all(opened, name, file.bytes, file.once ? most_read_once : UINT64_MAX, heartbeat);
}

}  // namespace

TextBytes text_in_memory(std::string name, std::string_view all) {
  const std::string_view bytes = without_byte_order_mark(all);
  return {.name = std::move(name), .bytes = bytes, .mark_bytes = all.size() - bytes.size(), .owner = {}};
}

TextBytes read_text(const TextFile& file, const Heartbeat& heartbeat) {
  if (file.path == sample_text_name) return text_in_memory(file.path, sample_text());
  if (file.path == standard_input_name) {
    static const std::string all = standard_input_bytes(most_read_once, heartbeat);
    return text_in_memory("standard input", all);
  }
  const std::string name = printable_path(file.path);
  const auto owner = std::make_shared<const std::string>(read_path(file, name, heartbeat));
  TextBytes text = text_in_memory(name, *owner);
  text.owner = owner;
  return text;
}

std::string standard_input_bytes(std::uint64_t most, const Heartbeat& heartbeat) {
  const Descriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (input.number() < 0) fail_on("read", "standard input", errno);
  return read_all(input, "standard input", /*expected=*/0, most, heartbeat);
}

std::string_view without_byte_order_mark(std::string_view bytes) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  while (bytes.starts_with(mark)) bytes.remove_prefix(mark.size());
  return bytes;
}

std::string names_of(std::span<const TextBytes> texts) {
  std::vector<std::string> names;
  for (const TextBytes& text : texts) names.push_back(text.name);
  return some_of(names);
}

std::string_view sample_text() {
  return embedded_file("data/sample.txt");
}

}  // namespace chargpt
