#include "text/text_files.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "text/sample_text.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t end_bytes = std::uint64_t{64} << 10;

std::string advice_for_missing(const fs::path& path) {
  if (path.filename() == "tinyshakespeare.txt")
    return "; scripts/get_text.sh of a checkout fetches it, and --text " + std::string(sample_text_name) +
           " is a small text built into the program";
  return path.is_relative() ? "; relative paths start at the working folder" : "; check the name";
}

bool is_sample(const fs::path& path) {
  return path.native() == sample_text_name;
}

TextSource sample_source() {
  return TextSource::in_memory(std::string(sample_text_name), std::string(sample_text()));
}

/// A pipe or device: readable, but not a regular file of known size.
bool is_pipe(const fs::path& path) {
  std::error_code unknown;
  return fs::is_fifo(path, unknown) || fs::is_character_file(path, unknown);
}

/// Held in memory.
TextSource held_source(const fs::path& path, std::uint64_t max_bytes, const ReadingProgress& progress) {
  if (is_sample(path)) return sample_source();
  if (!is_pipe(path)) return TextSource::whole_file(path, max_bytes);
  std::uint64_t read = 0;
  TextSource source = TextSource::pipe(path, max_bytes, [&](std::uint64_t bytes) {
    read = bytes;
    if (progress) progress(bytes, 0);
  });
  if (progress && read > 0) progress(read, read);
  return source;
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
    if (!is_sample(path) && fs::status(path, unknown).type() == fs::file_type::not_found)
      throw Error(ExitCode::missing, printable_path(path) + " does not exist" + advice_for_missing(path));
}

std::uint64_t TextFiles::bytes() const {
  std::uint64_t sum = 0;
  for (const fs::path& path : paths_) {
    std::error_code unknown;
    const std::uint64_t size = fs::is_regular_file(path, unknown) ? fs::file_size(path, unknown) : 0;
    if (!unknown) sum += size;
  }
  return sum;
}

bool TextFiles::within(std::uint64_t bytes) const {
  return this->bytes() <= bytes;
}

bool TextFiles::regular() const {
  std::error_code unknown;
  return std::all_of(paths_.begin(), paths_.end(),
                     [&](const fs::path& path) { return is_sample(path) || fs::is_regular_file(path, unknown); });
}

std::vector<TextSource> TextFiles::in_memory(std::uint64_t max_bytes, const ReadingProgress& progress) const {
  std::vector<TextSource> sources;
  for (const fs::path& path : paths_) sources.push_back(held_source(path, max_bytes, progress));
  return sources;
}

std::vector<TextSource> TextFiles::streamed(std::uint64_t max_pipe_bytes, const ReadingProgress& progress) const {
  std::vector<TextSource> sources;
  std::error_code unknown;
  for (const fs::path& path : paths_)
    sources.push_back(fs::is_regular_file(path, unknown) && !is_sample(path)
                          ? TextSource::streamed_file(path)
                          : held_source(path, max_pipe_bytes, progress));
  return sources;
}

std::string TextFiles::identity() const {
  std::string text;
  for (const fs::path& path : paths_)
    text += (is_sample(path) ? path : fs::absolute(path).lexically_normal()).native() + '\0';
  return text;
}

std::string TextFiles::state() const {
  std::string text;
  for (const fs::path& path : paths_) text += is_sample(path) ? std::string(sample_text()) : state_of(path);
  return text;
}

}  // namespace chargpt
