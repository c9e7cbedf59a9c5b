#include "text/text_listing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/text_bytes.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

std::string advice_for_missing(const fs::path& path) {
  if (path.filename() == "tinyshakespeare.txt")
    return "; scripts/get_text.sh of a checkout fetches it, and --text " + std::string(sample_text_name) +
           " is a small text built into the program";
  if (const std::string near = nearest_entry(path); !near.empty()) return near;
  return path.is_relative() ? "; relative paths start at the working folder" : "; check the name";
}

/// Looks at the first megabyte: nullopt if that is UTF-8 without NUL bytes, else what the file is.
std::optional<std::string> why_not_text(const fs::path& path) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail_on("read", path, errno);
  std::string bytes(std::min(file_size(file, path) + 1, most), '\0');  // one more: a file of /proc says 0
  bytes.resize(read_some(file, bytes, path));
  const std::string_view piece = without_byte_order_mark(bytes);
  const auto named = [&](const char* otherwise) {
    const auto kind = kind_of_file(piece);
    return std::string(kind ? kind->name : otherwise);
  };
  if (piece.find('\0') != std::string_view::npos) return named("binary");
  const std::string_view rest = piece.substr(decode_utf8(piece, [](char32_t) {}));
  const bool cut_here = bytes.size() == most && !rest.empty() && decode_character(rest).fault == cut_off;
  return rest.empty() || cut_here ? std::nullopt : std::optional(named("not UTF-8"));
}

/// Whether this names what the process has open, which the next one has not: /dev/stdin, /dev/fd/3, /proc/self/fd/3.
bool names_descriptor(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return path == "/dev/stdin" || folder == "/dev/fd" ||
         (folder.filename() == "fd" && path.native().starts_with("/proc/"));
}

TextFile regular_file(const fs::path& path) {
  std::error_code reported_by_reading;
  const std::uintmax_t bytes = fs::file_size(path, reported_by_reading);
  return {.path = path, .bytes = reported_by_reading ? 0 : bytes};
}

bool is_marked_run(const fs::path& folder) {
  try {
    return read_regular_file(folder / "run.json", 1 << 22).find("chargpt run") != std::string::npos;
  } catch (const Error&) {  // most folders have no such file
    return false;
  }
}

/// Also what chargpt has exported.
bool is_model_of_transformers(const fs::path& folder) {
  return is_there(folder / "config.json") && is_there(folder / "tokenizer.json");
}

/// Looks through a folder and those in it.
class Search {
 public:
  Search(fs::path folder, Units units, std::int64_t most_entries)
      : folder_(std::move(folder)), units_(units), most_entries_(most_entries) {}

  /// Adds what it finds.
  void run(TextListing& listing) {
    look_into("");
    std::ranges::sort(found_);
    std::ranges::sort(left_out_);
    if (found_.empty() && left_out_.empty()) throw Error(ExitCode::missing, folder_, " contains no visible files");
    if (found_.empty())
      throw Error(ExitCode::data, folder_, " has no file that is a plain UTF-8 text, only ", some_of(left_out_),
                  "; convert them, or use --units bytes for files of any kind");
    if (!left_out_.empty()) listing.notices.push_back(line_of(folder_, ": left out as no text: ", some_of(left_out_)));
    for (const std::string& name : found_) listing.files.push_back(regular_file(folder_ / name));
  }

 private:
  /// `below`: the folder's name below that of the text.
  void look_into(const fs::path& below) {
    for (const fs::directory_entry& entry : entries_in(folder_ / below))
      if (const fs::path name = entry.path().filename(); !name.native().starts_with('.')) look_at(entry, below / name);
  }

  /// All at once, so that no folder stays open while those in it are read.
  std::vector<fs::directory_entry> entries_in(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
      entries.push_back(*at);
      if (++entries_ > most_entries_)
        throw Error(ExitCode::data, folder_, " has more than ", most_entries_,
                    " files and folders to look through; name a smaller folder");
    }
    if (failed) fail_on("read", folder, failed.value());
    return entries;
  }

  void look_at(const fs::directory_entry& entry, const fs::path& name) {
    std::error_code failed;
    const fs::file_type itself = entry.symlink_status(failed).type();
    if (itself == fs::file_type::directory) {
      if (is_marked_run(entry.path())) return leave_out(name, "a run");
      return is_model_of_transformers(entry.path()) ? leave_out(name, "a model of transformers") : look_into(name);
    }
    const fs::file_type type = itself == fs::file_type::symlink ? entry.status(failed).type() : itself;
    if (type == fs::file_type::directory) return leave_out(name, "a link to a folder");
    if (type == fs::file_type::not_found) return leave_out(name, "a broken link");
    if (type != fs::file_type::regular) return leave_out(name, "not a regular file");
    if (units_ == Units::characters)
      if (const auto why = why_not_text(entry.path())) return leave_out(name, *why);
    found_.push_back(name.native());
  }

  void leave_out(const fs::path& name, const std::string& what) { left_out_.push_back(line_of(name, " (", what, ")")); }

  const fs::path folder_;
  const Units units_;
  const std::int64_t most_entries_;
  std::int64_t entries_ = 0;
  std::vector<std::string> found_, left_out_;
};

[[noreturn]] void refuse_missing(const fs::path& path) {
  if (path.native().find_first_of("*?") != std::string::npos)
    throw Error(ExitCode::missing, path, " does not exist, and patterns are left to the shell: give --text ", path,
                " without quotes, or the folder");
  throw Error(ExitCode::missing, path, " does not exist", advice_for_missing(path));
}

void list_text(const std::string& name, Units units, std::int64_t most_entries, TextListing& listing) {
  if (name.empty())
    throw Error(ExitCode::usage, "data.text has an empty name; give a file, a folder, or - for standard input");
  const fs::path path = name;
  listing.names.push_back(name);
  if (name == sample_text_name) return listing.files.push_back({path});
  if (name == standard_input_name) return listing.files.push_back({path, /*once=*/true});
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (type == fs::file_type::not_found) refuse_missing(path);
  if (type == fs::file_type::fifo || type == fs::file_type::character ||
      (type == fs::file_type::regular && names_descriptor(path)))
    return listing.files.push_back({path, /*once=*/true});
  if (type != fs::file_type::directory) return listing.files.push_back(regular_file(path));
  if (is_marked_run(path))
    throw Error(ExitCode::usage, path,
                " is a run, not a text; a run is given before the options, and all words after --text are texts");
  Search(path, units, most_entries).run(listing);
}

/// A line about files that are read more than once, if there are any.
std::string repeated_files(const TextListing& listing) {
  std::set<std::pair<dev_t, ino_t>> seen;
  std::vector<std::string> repeated;
  for (const TextFile& file : listing.files) {
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (!seen.emplace(status.st_dev, status.st_ino).second) repeated.push_back(printable_path(file.path));
  }
  return repeated.empty() ? "" : "the text holds the same file more than once: " + some_of(repeated);
}

}  // namespace

std::uint64_t TextListing::bytes() const {
  std::uint64_t sum = 0;
  for (const TextFile& file : files) sum += file.bytes;
  return sum;
}

bool TextListing::repeatable() const {
  return std::ranges::none_of(files, &TextFile::once);
}

TextListing list_texts(const Strings& names, Units units, std::int64_t most_entries) {
  if (names.empty())
    throw Error(ExitCode::usage, "data.text names no file; name at least one text, e.g. --text mine.txt");
  if (std::ranges::count(names, standard_input_name) > 1)
    throw Error(ExitCode::usage, "--text - is given twice, and standard input can be read only once; give it once");
  TextListing listing;
  for (const std::string& name : names) list_text(name, units, most_entries, listing);
  if (std::string line = repeated_files(listing); !line.empty()) listing.notices.push_back(std::move(line));
  return listing;
}

std::string short_text_name(const std::string& name) {
  return name == standard_input_name ? "standard input" : name_of_path(name);
}

}  // namespace chargpt
