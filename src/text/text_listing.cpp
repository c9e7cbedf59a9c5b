#include "text/text_listing.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "config/document.h"
#include "text/encoding.h"

namespace chargpt {
namespace {

std::string advice_for_missing(const fs::path& path) {
  if (path.filename() != "tinyshakespeare.txt") return nearest_entry(path);
  return "; scripts/get_text.sh of a checkout fetches it, and --text " + std::string(sample_text_name) +
         " is a small text built into the program";
}

constexpr std::uint64_t most_looked_at = std::uint64_t{1} << 20;

/// nullopt for UTF-8 without NUL bytes.
std::optional<Evidence> why_not_text(std::string_view bytes) {
  const std::string_view rest = bytes.substr(decode_utf8(bytes, [](char32_t) {}));
  const bool cut_here =
      bytes.size() == most_looked_at && !rest.empty() && decode_character(rest).fault == Fault::cut_off;
  if (bytes.find('\0') == bytes.npos && (rest.empty() || cut_here)) return std::nullopt;
  return evidence_of(bytes);
}

/// Whether chargpt wrote a file: a page, or what a command printed with --json. Two of these keys tell its documents
/// from those of other programs. Runs and exported models are folders.
bool is_output_of_chargpt(std::string_view bytes) {
  constexpr std::string_view keys[] = {
      "bits_per_char", "bits_per_byte",   "checkpoint",          "last_step",         "cpu_capability", "kernels",
      "leaks",         "gflop_per_step",  "first_token_ms",      "tokens_per_second", "trained_tokens", "best_val_loss",
      "best_step",     "symbol_counts",   "val_tokens_in_train", "parameter_groups",  "max_val_tokens", "purpose",
      "model_type",    "compared_losses", "same_weights"};
  const auto has = [&](std::string_view key) { return bytes.find(line_of('"', key, "\":")) != bytes.npos; };
  return bytes.starts_with("<!DOCTYPE html>\n<!-- chargpt page -->") ||
         ((bytes.starts_with('{') || bytes.starts_with('[')) && std::ranges::count_if(keys, has) >= 2);
}

TextFile regular_file(const fs::path& path) {
  std::error_code reported_by_reading;
  const std::uintmax_t bytes = fs::file_size(path, reported_by_reading);
  return {.path = path, .bytes = reported_by_reading ? 0 : bytes};
}

constexpr std::int64_t most_entries = 1'000'000;

/// Searches a folder and its subfolders for texts.
class Search {
 public:
  Search(fs::path folder, Units units) : folder_(std::move(folder)), units_(units) {}

  /// Searches, and adds the texts to the listing.
  void run(TextListing& listing) {
    look_into("");
    std::ranges::sort(found_);
    std::ranges::sort(left_out_);
    std::ranges::sort(commands_);
    std::string others, commands = joined(commands_, "; ");
    for (const std::string& name : found_) others += " " + shell_quoted((folder_ / name).native());
    if (!commands_.empty())
      throw Error(ExitCode::data, folder_, " has ", commands_.size(), commands_.size() == 1 ? " text" : " texts",
                  " in another encoding than UTF-8; convert (", commands, ") and move the originals away",
                  others.empty() ? "" : ", or train without: --text" + others);
    if (found_.empty() && left_out_.empty()) throw Error(ExitCode::missing, folder_, " contains no visible files");
    if (found_.empty())
      throw Error(ExitCode::data, folder_, " has no file that is a plain UTF-8 text, only ", some_of(left_out_),
                  "; convert them, or use --units bytes for files of any kind");
    listing.left_out.insert(listing.left_out.end(), left_out_.begin(), left_out_.end());
    if (!left_out_.empty()) listing.notices.push_back(line_of(folder_, ": left out as no text: ", some_of(left_out_)));
    for (const std::string& name : found_) listing.files.push_back(regular_file(folder_ / name));
  }

 private:
  /// Searches the subfolder `below`, a path relative to folder_.
  void look_into(const fs::path& below) {
    for (const fs::directory_entry& entry : entries_in(folder_ / below))
      if (const fs::path name = entry.path().filename(); !name.native().starts_with('.')) look_at(entry, below / name);
  }

  /// Reads all entries at once, so that no folder stays open during the recursion.
  std::vector<fs::directory_entry> entries_in(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
      entries.push_back(*at);
      if (++entries_ > most_entries)
        throw Error(ExitCode::data, folder_, " has more than ", most_entries,
                    " files and folders to look through; name a smaller folder");
    }
    if (failed) fail_on("read", folder, failed.value());
    return entries;
  }

  void look_at(const fs::directory_entry& entry, const fs::path& name) {
    std::error_code failed;
    const fs::file_type itself = entry.symlink_status(failed).type();
    if (itself == fs::file_type::directory) {
      if (is_there(entry.path() / "run.json")) return leave_out(name, "a run");
      return is_model_of_transformers(entry.path()) ? leave_out(name, "a model of transformers") : look_into(name);
    }
    const fs::file_type type = itself == fs::file_type::symlink ? entry.status(failed).type() : itself;
    if (type != fs::file_type::regular) return leave_out(name, "not a regular file");
    const std::string bytes = read_stretch(entry.path(), 0, most_looked_at, Links::follow).bytes;
    if (is_output_of_chargpt(bytes)) return leave_out(name, "output of chargpt");
    if (const auto kind = kind_of_file(bytes); kind && kind->name == "a safetensors file")
      return leave_out(name, std::string(kind->name));
    const auto why = units_ == Units::characters ? why_not_text(bytes) : std::nullopt;
    if (why && why->command.empty()) return leave_out(name, why->what.substr(0, why->what.find(':')));
    if (why) return commands_.push_back(command_line(*why, entry.path().native()));
    found_.push_back(name.native());
  }

  void leave_out(const fs::path& name, const std::string& what) { left_out_.push_back(line_of(name, " (", what, ")")); }

  const fs::path folder_;
  const Units units_;
  std::int64_t entries_ = 0;
  std::vector<std::string> found_, left_out_, commands_;  ///< commands_ convert texts in other encodings
};

[[noreturn]] void refuse_missing(const fs::path& path) {
  if (path.native().find_first_of("*?") != std::string::npos)
    throw Error(ExitCode::missing, path, " does not exist, and patterns are left to the shell: give --text ", path,
                " without quotes, or the folder");
  throw Error(ExitCode::missing, path, " does not exist", advice_for_missing(path));
}

void list_text(const std::string& name, Units units, TextListing& listing) {
  if (name.empty())
    throw Error(ExitCode::usage, "data.text has an empty name; give a file, a folder, or - for standard input");
  const fs::path path = name;
  listing.names.push_back(name);
  if (name == sample_text_name) return listing.files.push_back({path});
  if (name == standard_input_name) return listing.files.push_back({path, /*once=*/true});
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (type == fs::file_type::not_found) refuse_missing(path);
  if (type == fs::file_type::fifo || type == fs::file_type::character)
    return listing.files.push_back({path, /*once=*/true});
  if (type != fs::file_type::directory) return listing.files.push_back(regular_file(path));
  if (is_there(path / "run.json"))
    throw Error(ExitCode::usage, path,
                " is a run, not a text; a run is given before the options, and all words after --text are texts");
  Search(path, units).run(listing);
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

TextListing list_texts(const Strings& names, Units units) {
  if (names.empty())
    throw Error(ExitCode::usage, "data.text names no file; name at least one text, e.g. --text mine.txt");
  if (std::ranges::count(names, standard_input_name) > 1)
    throw Error(ExitCode::usage, "--text - is given twice, and standard input can be read only once; give it once");
  TextListing listing;
  for (const std::string& name : names) list_text(name, units, listing);
  return listing;
}

std::string short_text_name(const std::string& name) {
  return name == standard_input_name ? "standard input" : name_of_path(name);
}

}  // namespace chargpt
