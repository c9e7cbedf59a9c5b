#include "text/text_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/entry_names.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "text/sample_text.h"
#include "text/text_source.h"

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

/// A text is told by its first megabyte: none where it is UTF-8 without NUL bytes, else what the file is.
std::optional<std::string> why_no_text(const fs::path& path) {
  const TextSource source = TextSource::file(path);
  TextReader reader(source);
  const std::string_view piece = reader.next();
  const auto named = [&](const char* otherwise) {
    const auto kind = kind_of_file(piece);
    return std::string(kind ? kind->name : otherwise);
  };
  if (piece.find('\0') != std::string_view::npos) return named("binary");
  const std::string_view rest = piece.substr(decode_utf8(piece, [](char32_t) {}));
  if (rest.empty()) return std::nullopt;
  if (decode_character(rest).fault != Utf8Fault::cut_off) return named("not UTF-8");
  const bool ends_here = reader.next(rest.size()).size() == rest.size();
  return ends_here ? std::optional<std::string>("not UTF-8") : std::nullopt;
}

/// Whether a folder is a run: what a training writes is no text to train on.
bool is_marked_run(const fs::path& folder) {
  std::error_code ignored;
  const fs::path mark = folder / "run.json";
  if (!fs::is_regular_file(mark, ignored) || fs::file_size(mark, ignored) > 4096) return false;
  try {
    return read_regular_file(mark, 4096).find("chargpt run") != std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

/// Looks through a folder and those in it.
class Search {
 public:
  Search(ListedText& text, Units units, const ListingLimits& limits) : text_(text), units_(units), limits_(limits) {}

  void run() {
    look_into("");
    std::ranges::sort(text_.files, {}, [](const ListedFile& file) -> const std::string& { return file.name.native(); });
    std::ranges::sort(left_out_);
    refuse_nothing();
  }

  /// "" where nothing was left out.
  std::string notice() const {
    return left_out_.empty() ? "" : shown() + ": left out as no text: " + some_of(left_out_);
  }

 private:
  std::string shown() const { return printable_path(text_.name); }

  /// `below`: the folder's name below that of the text.
  void look_into(const fs::path& below) {
    for (const fs::directory_entry& entry : entries_of(text_.name / below))
      if (const fs::path name = entry.path().filename(); !name.native().starts_with('.')) look_at(entry, below / name);
  }

  /// All at once, so that no folder stays open while those in it are read.
  std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
      entries.push_back(*at);
      if (++entries_ > limits_.entries)
        throw Error(ExitCode::data, shown() + " has more than " + std::to_string(limits_.entries) +
                                        " files and folders to look through; name a smaller folder");
    }
    if (failed)
      throw Error(failed == std::errc::no_such_file_or_directory ? ExitCode::missing : ExitCode::io,
                  "cannot read the folder " + printable_path(folder) + ": " + failed.message());
    return entries;
  }

  void look_at(const fs::directory_entry& entry, const fs::path& name) {
    std::error_code failed;
    const fs::file_type itself = entry.symlink_status(failed).type();
    if (itself == fs::file_type::directory)
      return is_marked_run(entry.path()) ? leave_out(name, "a run") : look_into(name);
    const fs::file_type type = itself == fs::file_type::symlink ? entry.status(failed).type() : itself;
    if (type == fs::file_type::regular) return take(entry.path(), name);
    if (type == fs::file_type::directory) return leave_out(name, "a link to a folder");
    if (type == fs::file_type::fifo) return leave_out(name, "a pipe");
    if (type == fs::file_type::socket) return leave_out(name, "a socket");
    if (type == fs::file_type::character || type == fs::file_type::block) return leave_out(name, "a device");
    leave_out(name, itself == fs::file_type::symlink ? "a link that leads nowhere" : "no regular file");
  }

  void take(const fs::path& path, const fs::path& name) {
    if (std::ssize(text_.files) + std::ssize(left_out_) >= limits_.files)
      throw Error(ExitCode::data, shown() + " has more than " + std::to_string(limits_.files) +
                                      " files, the limit; name a smaller folder");
    if (units_ == Units::characters)
      if (const auto why = why_no_text(path)) return leave_out(name, *why);
    std::error_code reported_by_reading;
    text_.files.push_back({name, fs::file_size(path, reported_by_reading)});
  }

  void leave_out(const fs::path& name, const std::string& what) {
    left_out_.push_back(printable_path(name) + " (" + what + ")");
  }

  void refuse_nothing() const {
    if (!text_.files.empty()) return;
    if (!left_out_.empty())
      throw Error(ExitCode::data, shown() + " has no file that is a plain UTF-8 text, only " + some_of(left_out_) +
                                      "; convert them, or use --units bytes for files of any kind");
    throw Error(ExitCode::missing, shown() + " contains no visible files");
  }

  ListedText& text_;
  const Units units_;
  const ListingLimits& limits_;
  std::int64_t entries_ = 0;
  std::vector<std::string> left_out_;
};

/// Of something that is there.
TextKind kind_of_path(const fs::path& path) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (type == fs::file_type::directory) return TextKind::folder;
  return type == fs::file_type::fifo || type == fs::file_type::character ? TextKind::pipe : TextKind::file;
}

TextKind kind_of_name(const std::string& name) {
  if (name.empty())
    throw Error(ExitCode::usage, "data.text has an empty name; give a file, a folder, or - for standard input");
  if (name == sample_text_name) return TextKind::sample;
  if (name == standard_input_name) return TextKind::standard_input;
  std::error_code ignored;
  if (fs::status(name, ignored).type() != fs::file_type::not_found) return kind_of_path(name);
  if (name.find_first_of("*?") != std::string::npos)
    throw Error(ExitCode::missing, printable_path(name) + " does not exist, and patterns are left to the shell: give " +
                                       "--text " + printable_path(name) + " without quotes, or the folder");
  throw Error(ExitCode::missing, printable_path(name) + " does not exist" + advice_for_missing(name));
}

ListedText list_text(const std::string& name, Units units, const ListingLimits& limits,
                     std::vector<std::string>& notices) {
  ListedText text{.name = name, .kind = kind_of_name(name)};
  std::error_code ignored;
  if (text.kind == TextKind::file) text.files.push_back({name, fs::file_size(name, ignored)});
  if (text.kind == TextKind::pipe) text.files.push_back({name, 0});
  if (!text.is_folder()) return text;
  if (is_marked_run(name))
    throw Error(ExitCode::usage, printable_path(name) +
                                     " is a run, not a text; a run is given before the options, and " +
                                     "all words after --text are texts");
  Search search(text, units, limits);
  search.run();
  if (std::string notice = search.notice(); !notice.empty()) notices.push_back(std::move(notice));
  return text;
}

/// A line about files that are read more than once, if there are any.
std::string repeated_files(const TextListing& listing) {
  std::set<std::pair<dev_t, ino_t>> seen;
  std::vector<std::string> repeated;
  for (const ListedText& text : listing.texts)
    for (const ListedFile& file : text.files) {
      struct stat status {};
      const fs::path path = text.path_of(file);
      if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (!seen.emplace(status.st_dev, status.st_ino).second) repeated.push_back(printable_path(path));
    }
  return repeated.empty() ? "" : "the text holds the same file more than once: " + some_of(repeated);
}

void refuse_input_twice(const Strings& names) {
  if (std::ranges::count(names, standard_input_name) > 1)
    throw Error(ExitCode::usage, "--text - is given twice, and standard input can be read only once; give it once");
}

}  // namespace

std::int64_t TextListing::files() const {
  std::int64_t count = 0;
  for (const ListedText& text : texts)
    count += std::max<std::int64_t>(text.is_folder() ? 0 : 1, std::ssize(text.files));
  return count;
}

std::uint64_t TextListing::bytes() const {
  std::uint64_t sum = 0;
  for (const ListedText& text : texts)
    for (const ListedFile& file : text.files) sum += file.bytes;
  return sum;
}

bool TextListing::repeatable() const {
  return std::ranges::none_of(texts, [](const ListedText& text) {
    return text.kind == TextKind::standard_input || text.kind == TextKind::pipe;
  });
}

std::vector<std::string> TextListing::names() const {
  std::vector<std::string> all;
  for (const ListedText& text : texts) all.push_back(text.name.native());
  return all;
}

TextListing list_texts(const Strings& names, Units units, const ListingLimits& limits) {
  if (names.empty())
    throw Error(ExitCode::usage, "data.text names no file; name at least one text, e.g. --text mine.txt");
  refuse_input_twice(names);
  TextListing listing;
  for (const std::string& name : names) listing.texts.push_back(list_text(name, units, limits, listing.notices));
  if (std::string line = repeated_files(listing); !line.empty()) listing.notices.push_back(std::move(line));
  return listing;
}

std::string short_text_name(const std::string& name) {
  if (name == standard_input_name) return "standard input";
  return name_of_path(name);
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t some = 3;
  const std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), some));
  return joined(first, ", ") + (names.size() > some ? " and " + std::to_string(names.size() - some) + " more" : "");
}

}  // namespace chargpt
