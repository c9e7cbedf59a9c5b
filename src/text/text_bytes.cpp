#include "text/text_bytes.h"

#include <fcntl.h>
#include <unistd.h>

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

constexpr const char* read_once = "the limit for what can be read only once; write it into a file and give that";

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
  const std::uint64_t most = file.once ? most_read_once : UINT64_MAX;
  const auto owner = std::make_shared<const std::string>(read_file(file.path, most, read_once, heartbeat));
  TextBytes text = text_in_memory(printable_path(file.path), *owner);
  text.owner = owner;
  return text;
}

Descriptor standard_input() {
  Descriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (input.number() < 0) fail_on("read", "standard input", errno);
  return input;
}

std::string standard_input_bytes(std::uint64_t most, const Heartbeat& heartbeat) {
  return read_to_end(standard_input(), "standard input", most, read_once, heartbeat);
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
