#include "text/text_files.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/files.h"
#include "text/sample_text.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t end_bytes = std::uint64_t{64} << 10;

/// What comes once and has no known size, held in memory.
TextSource held_pipe(const std::function<TextSource(const std::function<void(std::uint64_t)>&)>& open,
                     const ReadingProgress& progress) {
  std::uint64_t read = 0;
  TextSource source = open([&](std::uint64_t bytes) {
    read = bytes;
    if (progress) progress(bytes, 0);
  });
  if (progress && read > 0) progress(read, read);
  return source;
}

/// Read once in a process, for a second reading would find nothing.
TextSource standard_input(const ReadingProgress& progress) {
  static const TextSource source =
      held_pipe([](const auto& note) { return TextSource::standard_input(most_piped_bytes, note); }, progress);
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

TextFiles::TextFiles(const TextListing& listing) {
  for (const ListedText& text : listing.texts) {
    if (text.files.empty()) entries_.push_back({text.kind, text.name});
    for (const ListedFile& file : text.files)
      entries_.push_back({text.is_many() ? TextKind::file : text.kind, text.path_of(file)});
  }
}

bool TextFiles::Entry::is_regular() const {
  std::error_code unknown;
  return kind == TextKind::file && fs::is_regular_file(path, unknown);
}

TextSource TextFiles::Entry::held(const ReadingProgress& progress) const {
  if (kind == TextKind::sample) return TextSource::in_memory(std::string(sample_text_name), std::string(sample_text()));
  if (kind == TextKind::standard_input) return standard_input(progress);
  if (kind == TextKind::file) return TextSource::whole_file(path, most_bytes_in_memory);
  return held_pipe([this](const auto& note) { return TextSource::pipe(path, most_piped_bytes, note); }, progress);
}

std::uint64_t TextFiles::bytes() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_) {
    std::error_code unknown;
    const std::uint64_t size = entry.is_regular() ? fs::file_size(entry.path, unknown) : 0;
    if (!unknown) sum += size;
  }
  return sum;
}

bool TextFiles::within(std::uint64_t bytes) const {
  return this->bytes() <= bytes;
}

bool TextFiles::regular() const {
  return std::ranges::all_of(entries_,
                             [](const Entry& entry) { return entry.kind == TextKind::sample || entry.is_regular(); });
}

std::vector<TextSource> TextFiles::in_memory(const ReadingProgress& progress) const {
  std::vector<TextSource> sources;
  for (const Entry& entry : entries_) sources.push_back(entry.held(progress));
  return sources;
}

std::vector<TextSource> TextFiles::streamed(const ReadingProgress& progress) const {
  std::vector<TextSource> sources;
  for (const Entry& entry : entries_)
    sources.push_back(entry.kind == TextKind::file ? TextSource::streamed_file(entry.path) : entry.held(progress));
  return sources;
}

std::string TextFiles::identity() const {
  std::string text;
  for (const Entry& entry : entries_)
    text += (entry.kind == TextKind::sample ? entry.path : fs::absolute(entry.path).lexically_normal()).native() + '\0';
  return text;
}

std::string TextFiles::state() const {
  std::string text;
  for (const Entry& entry : entries_)
    text += entry.kind == TextKind::sample ? std::string(sample_text()) : state_of(entry.path);
  return text;
}

}  // namespace chargpt
