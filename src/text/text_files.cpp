#include "text/text_files.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t end_bytes = std::uint64_t{64} << 10;

std::string advice_for_missing(const fs::path& path) {
  if (path.filename() == "tinyshakespeare.txt")
    return "; scripts/get_text.sh fetches it, and data/sample.txt is a small text that needs no network";
  return path.is_relative() ? "; relative paths start at the working folder" : "; check its name";
}

/// CRC-64 of up to end_bytes bytes from `offset`.
std::uint64_t sum_from(const fs::path& path, std::uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(end_bytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return crc64(std::string_view(bytes).substr(0, static_cast<std::size_t>(file.gcount())));
}

std::string state_of(const fs::path& path) {
  std::error_code unknown;
  const std::uint64_t size = fs::file_size(path, unknown);
  const auto written = fs::last_write_time(path, unknown).time_since_epoch().count();
  return std::to_string(size) + " " + std::to_string(written) + " " + std::to_string(sum_from(path, 0)) + " " +
         std::to_string(sum_from(path, size - std::min(size, end_bytes))) + "\n";
}

}  // namespace

TextFiles::TextFiles(const std::vector<std::string>& names) : paths_(names.begin(), names.end()) {
  if (paths_.empty())
    throw Error(ExitCode::usage, "data.text names no file; name at least one text, e.g. --text mine.txt");
  std::error_code unknown;
  for (const fs::path& path : paths_)
    if (fs::status(path, unknown).type() == fs::file_type::not_found)
      throw Error(ExitCode::missing, printable(path.native(), 400) + " does not exist" + advice_for_missing(path));
}

bool TextFiles::within(std::uint64_t bytes) const {
  for (const fs::path& path : paths_) {
    std::error_code unknown;
    const std::uint64_t size = fs::is_regular_file(path, unknown) ? fs::file_size(path, unknown) : 0;
    if (unknown) continue;
    if (size > bytes) return false;
    bytes -= size;
  }
  return true;
}

bool TextFiles::regular() const {
  std::error_code unknown;
  return std::all_of(paths_.begin(), paths_.end(),
                     [&](const fs::path& path) { return fs::is_regular_file(path, unknown); });
}

std::vector<TextSource> TextFiles::in_memory(std::uint64_t max_bytes) const {
  std::vector<TextSource> sources;
  for (const fs::path& path : paths_) sources.push_back(TextSource::whole_file(path, max_bytes));
  return sources;
}

std::vector<TextSource> TextFiles::streamed(std::uint64_t max_pipe_bytes) const {
  std::vector<TextSource> sources;
  std::error_code unknown;
  for (const fs::path& path : paths_)
    sources.push_back(fs::is_regular_file(path, unknown) ? TextSource::streamed_file(path)
                                                         : TextSource::whole_file(path, max_pipe_bytes));
  return sources;
}

std::string TextFiles::identity() const {
  std::string text;
  for (const fs::path& path : paths_) text += fs::absolute(path).lexically_normal().native() + '\0';
  return text;
}

std::string TextFiles::state() const {
  std::string text;
  for (const fs::path& path : paths_) text += state_of(path);
  return text;
}

}  // namespace chargpt
