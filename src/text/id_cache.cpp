#include "text/id_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/digits.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

static_assert(std::endian::native == std::endian::little, "ids and headers are stored as they are in memory");

constexpr std::array<char, 8> magic = {'c', 'h', 'a', 'r', 'i', 'd', 's', '1'};
constexpr std::size_t alignment = 64;

/// File: header, code points (u32 each), zeros up to a multiple of 64 bytes, ids.
struct Header {
  std::array<char, 8> magic;
  std::uint64_t key;
  std::uint64_t units;
  std::uint64_t symbols;  ///< code points that follow; 0 for bytes
  std::uint64_t width;
  std::uint64_t tokens;
  std::uint64_t ids_crc64;
  std::uint64_t crc64;  ///< of the fields above and the code points
};
static_assert(sizeof(Header) == 64);

std::uint64_t header_crc64(const Header& header, std::span<const std::byte> code_points) {
  const auto fields = std::as_bytes(std::span(&header, 1)).first(offsetof(Header, crc64));
  return crc64(code_points, crc64(fields));
}

std::uint64_t ids_offset(std::uint64_t symbols) {
  const std::uint64_t used = sizeof(Header) + symbols * sizeof(char32_t);
  return (used + alignment - 1) / alignment * alignment;
}

template <class Id>
bool all_below(std::span<const std::byte> ids, std::int64_t limit) {
  const auto* first = reinterpret_cast<const Id*>(ids.data());
  Id largest = 0;
  for (std::size_t i = 0; i < ids.size() / sizeof(Id); ++i) largest = std::max(largest, first[i]);
  return static_cast<std::int64_t>(largest) < limit;
}

bool all_below(std::span<const std::byte> ids, std::uint64_t width, std::int64_t limit) {
  if (width == 1) return all_below<std::uint8_t>(ids, limit);
  if (width == 2) return all_below<std::uint16_t>(ids, limit);
  return all_below<std::uint32_t>(ids, limit);
}

/// Whether the numbers in a header agree with each other and with a file of `size` bytes; nothing is multiplied before
/// it is bounded.
bool fits(const Header& header, std::uint64_t size) {
  if (header.magic != magic || header.units > 1 || header.symbols > code_point_limit) return false;
  if (header.width != 1 && header.width != 2 && header.width != 4) return false;
  const std::uint64_t start = ids_offset(header.symbols);
  return size >= start && (size - start) % header.width == 0 && (size - start) / header.width == header.tokens;
}

std::optional<Vocabulary> vocabulary_of(const Header& header, std::span<const std::byte> code_points) {
  if (header.units == static_cast<std::uint64_t>(Units::bytes)) return Vocabulary::of_bytes();
  std::vector<char32_t> symbols(header.symbols);
  std::memcpy(symbols.data(), code_points.data(), code_points.size());
  const bool ascending = std::adjacent_find(symbols.begin(), symbols.end(), std::greater_equal<>()) == symbols.end();
  if (symbols.empty() || !ascending || !std::all_of(symbols.begin(), symbols.end(), is_scalar_value))
    return std::nullopt;
  return Vocabulary::of_characters(std::move(symbols));
}

/// The oldest go, but for `path`.
void remove_beyond(std::uint64_t most, const std::filesystem::path& path) {
  struct Cache {
    std::filesystem::file_time_type written;
    std::uint64_t bytes;
    std::filesystem::path path;
  };
  std::vector<Cache> others;
  std::error_code ignored;
  std::uint64_t bytes = std::filesystem::file_size(path, ignored);
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
    if (!is_id_cache(entry.path().filename().native()) || entry.path() == path || !entry.is_regular_file(ignored))
      continue;
    others.push_back({entry.last_write_time(ignored), entry.file_size(ignored), entry.path()});
    bytes += others.back().bytes;
  }
  std::ranges::sort(others, {}, &Cache::written);
  for (const Cache& cache : others) {
    if (bytes <= most) return;
    std::filesystem::remove(cache.path, ignored);
    bytes -= cache.bytes;
  }
}

/// Removes what killed processes left of this file; a live writer keeps touching its own.
void remove_abandoned(const std::filesystem::path& path) {
  constexpr auto longest_silence = std::chrono::hours(1);
  const std::string prefix = path.filename().native() + ".tmp-";
  const auto now = std::filesystem::file_time_type::clock::now();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
    const std::string name = entry.path().filename().native();
    if (!name.starts_with(prefix) || !is_number(std::string_view(name).substr(prefix.size()))) continue;
    const auto written = entry.last_write_time(ignored);
    if (!ignored && now - written > longest_silence) std::filesystem::remove(entry.path(), ignored);
  }
}

[[noreturn]] void cannot_keep(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ExitCode::io, "the ids of the text cannot be kept in " + printable_path(path) + ": " + reason);
}

/// A file that takes its name only when it is finished; removed otherwise.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::filesystem::path path) : path_(std::move(path)) {
    // Under a free name: the next number if a process with the same id left such a file.
    for (int mark = ::getpid(); number_ < 0; ++mark) {
      temporary_ = path_.native() + ".tmp-" + std::to_string(mark);
      number_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (number_ < 0 && errno != EEXIST) fail();
    }
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    ::close(number_);
    if (!finished_) ::unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (write_all(number_, bytes, offset) < bytes.size()) fail();
  }

  /// Without fsync, which for a long text takes longer than reading it again: what a power cut spoils, its sum tells.
  void finish() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    finished_ = true;
  }

 private:
  [[noreturn]] void fail() const { cannot_keep(path_, std::generic_category().message(errno)); }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int number_ = -1;
  bool finished_ = false;
};

}  // namespace

bool is_id_cache(std::string_view name) {
  constexpr std::string_view prefix = "ids-", suffix = ".bin";
  constexpr std::size_t digits = 16;
  return name.starts_with(prefix) && name.ends_with(suffix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == prefix.size() + digits &&
         name.size() == prefix.size() + digits + suffix.size();
}

std::filesystem::path id_cache_folder() {
  const auto folder_of = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (std::getenv("CHARGPT_CACHE") != nullptr) return folder_of("CHARGPT_CACHE");
  if (const auto folder = folder_of("XDG_CACHE_HOME"); folder.is_absolute()) return folder / "chargpt";
  const auto home = folder_of("HOME");
  return home.is_absolute() ? home / ".cache/chargpt" : "";
}

std::optional<IdCache::Content> IdCache::open() const {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(path_, absent)) return std::nullopt;
  const auto file = std::make_shared<const MappedFile>(path_);
  const std::span<const std::byte> bytes = file->bytes();
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!fits(header, bytes.size()) || header.key != key_) return std::nullopt;
  const auto code_points = bytes.subspan(sizeof header, header.symbols * sizeof(char32_t));
  if (header.crc64 != header_crc64(header, code_points)) return std::nullopt;
  auto vocabulary = vocabulary_of(header, code_points);
  const auto ids = bytes.subspan(ids_offset(header.symbols));
  if (!vocabulary || !all_below(ids, header.width, vocabulary->size())) return std::nullopt;
  const TokenView tokens(ids.data(), static_cast<int>(header.width), static_cast<std::int64_t>(header.tokens));
  return Content{*std::move(vocabulary), tokens, file, header.ids_crc64};
}

void IdCache::write(const Vocabulary& vocabulary, int width, std::int64_t tokens,
                    const std::function<void(const IdSink&)>& fill, std::uint64_t most_bytes) const {
  Header header{.magic = magic,
                .key = key_,
                .units = static_cast<std::uint64_t>(vocabulary.units()),
                .symbols = vocabulary.code_points().size(),
                .width = static_cast<std::uint64_t>(width),
                .tokens = static_cast<std::uint64_t>(tokens),
                .ids_crc64 = 0,
                .crc64 = 0};
  const auto code_points = std::as_bytes(std::span(vocabulary.code_points()));
  std::error_code reported_by_open;
  std::filesystem::create_directories(path_.parent_path(), reported_by_open);
  remove_abandoned(path_);
  const std::uint64_t bytes = static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(width);
  std::error_code unknown;
  const auto space = std::filesystem::space(path_.parent_path(), unknown);
  if (!unknown && space.available / 4 < bytes)
    cannot_keep(path_, "they would take more than a quarter of the free space");
  UnfinishedFile file(path_);
  std::uint64_t offset = ids_offset(header.symbols);
  fill([&](std::span<const std::byte> ids) {
    file.write(ids, offset);
    offset += ids.size();
    header.ids_crc64 = crc64(ids, header.ids_crc64);
  });
  header.crc64 = header_crc64(header, code_points);
  file.write(std::as_bytes(std::span(&header, 1)), 0);
  file.write(code_points, sizeof header);
  file.finish();
  remove_beyond(most_bytes, path_);
}

}  // namespace chargpt
