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

/// Whether a folder is a run: its run.json says so.
bool is_run_folder(const fs::path& folder) {
  constexpr std::uint64_t beginning = 1000;
  const fs::path mark = folder / "run.json";
  const std::string bytes = is_file(mark) ? read_stretch(mark, 0, beginning, Links::follow).bytes : "";
  return bytes.find("\"chargpt run\"") != bytes.npos;
}

TextFile regular_file(const fs::path& path) {
  std::error_code reported_by_reading;
  const std::uintmax_t bytes = fs::file_size(path, reported_by_reading);
  return {.path = path, .bytes = reported_by_reading ? 0 : bytes};
}

constexpr std::int64_t most_entries = 1'000'000;

/// What a folder and its subfolders contain, by paths relative to it.
struct FolderContents {
  std::vector<std::string> texts;
  std::vector<std::string> left_out;  ///< each with the reason
  std::vector<std::string> commands;  ///< that convert texts in other encodings

  /// Adds an entry called `name`. Returns whether it is a folder to search.
  bool add(const fs::directory_entry& entry, const fs::path& name, Units units) {
    const auto leave_out = [&](std::string_view what) {
      left_out.push_back(line_of(name, " (", what, ")"));
      return false;
    };
    std::error_code failed;
    const fs::file_type itself = entry.symlink_status(failed).type();
    if (itself == fs::file_type::directory) {
      if (is_run_folder(entry.path())) return leave_out("a run");
      return !is_model_of_transformers(entry.path()) || leave_out("a model of transformers");
    }
    const fs::file_type type = itself == fs::file_type::symlink ? entry.status(failed).type() : itself;
    if (type != fs::file_type::regular) return leave_out("not a regular file");
    const std::string bytes = read_stretch(entry.path(), 0, most_looked_at, Links::follow).bytes;
    if (is_output_of_chargpt(bytes)) return leave_out("output of chargpt");
    if (const auto kind = kind_of_file(bytes); kind && kind->name == "a safetensors file") return leave_out(kind->name);
    const auto why = units == Units::characters ? why_not_text(bytes) : std::nullopt;
    if (why && why->command.empty()) return leave_out(why->what.substr(0, why->what.find(':')));
    (why ? commands : texts).push_back(why ? command_line(*why, entry.path().native()) : name.native());
    return false;
  }
};

FolderContents contents_of(const fs::path& folder, Units units) {
  FolderContents contents;
  fs::path last = folder;
  std::int64_t entries = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    last = at->path();
    if (++entries > most_entries)
      throw Error(ExitCode::data, folder, " has more than ", most_entries,
                  " files and folders to look through; name a smaller folder");
    const bool is_hidden = last.filename().native().starts_with('.');
    if (is_hidden || !contents.add(*at, last.lexically_relative(folder), units)) at.disable_recursion_pending();
  }
  if (failed) fail_on("read", last, failed.value());
  for (std::vector<std::string>* names : {&contents.texts, &contents.left_out, &contents.commands})
    std::ranges::sort(*names);
  return contents;
}

/// Adds the texts in a folder to the listing.
void list_folder(const fs::path& folder, Units units, TextListing& listing) {
  const auto [texts, left_out, commands] = contents_of(folder, units);
  std::string others;
  for (const std::string& name : texts) others += " " + shell_quoted((folder / name).native());
  if (!commands.empty())
    throw Error(ExitCode::data, folder, " has ", commands.size(), commands.size() == 1 ? " text" : " texts",
                " in another encoding than UTF-8; convert (", joined(commands, "; "), ") and move the originals away",
                others.empty() ? "" : ", or train without: --text" + others);
  if (texts.empty() && left_out.empty()) throw Error(ExitCode::missing, folder, " contains no visible files");
  if (texts.empty())
    throw Error(ExitCode::data, folder, " has no file that is a plain UTF-8 text, only ", some_of(left_out),
                "; convert them, or use --units bytes for files of any kind");
  listing.left_out.insert(listing.left_out.end(), left_out.begin(), left_out.end());
  if (!left_out.empty()) listing.notices.push_back(line_of(folder, ": left out as no text: ", some_of(left_out)));
  for (const std::string& name : texts) listing.files.push_back(regular_file(folder / name));
}

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
  if (is_run_folder(path))
    throw Error(ExitCode::usage, path,
                " is a run, not a text; a run is given before the options, and all words after --text are texts");
  list_folder(path, units, listing);
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
