#include "text/text_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "config/describe.h"
#include "config/load.h"
#include "text/documents.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "text.json";
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr int version = 1;
constexpr std::uint64_t most_kept_bytes = std::uint64_t{64} << 20;  ///< of a text that cannot be read again

/// Where RUN/text.json says; none if one of the files is not there, or the file says nothing usable.
std::optional<TextListing> last_place(const fs::path& run) {
  try {
    const auto json = nlohmann::json::parse(read_regular_file(run / file_name, most_bytes));
    if (json.at("version").get<int>() != version) return std::nullopt;
    TextListing listing{.names = json.at("text").get<Strings>()};
    for (const fs::path path : json.at("files").get<Strings>()) {
      if (path != sample_text_name && !is_file(path)) return std::nullopt;
      listing.files.push_back(regular_file(path));
    }
    return listing;
  } catch (const nlohmann::json::exception&) {
  } catch (const Error&) {
  }
  return std::nullopt;
}

constexpr const char* how_to_say_where = "say where it is with --text FILE to eval or resume, and the run remembers it";

[[noreturn]] void refuse_missing(const KnownText& known) {
  if (std::ranges::count(known.data.text, standard_input_name) > 0)
    throw Error(ExitCode::missing, "the text of ", known.run, " came from standard input and is not kept in the run; ",
                how_to_say_where);
  Strings names;
  for (const std::string& name : known.data.text) names.push_back(printable_path(name));
  throw Error(ExitCode::missing, joined(names, ", "), ", the text of ", known.run,
              ", is neither there nor where it was last (relative paths start at the working folder); ",
              how_to_say_where);
}

[[noreturn]] void refuse_another(const KnownText& known, const std::string& what, const std::string& how) {
  throw Error(ExitCode::data, what, " is not the one that ", known.run, " was trained on", how, "; ",
              advice_for_another_text(known.run));
}

/// Absolute; none where a file is not there any more, or JSON cannot hold a path.
std::optional<Strings> absolute(const std::vector<fs::path>& paths) {
  Strings places;
  std::error_code failed;
  for (const fs::path& path : paths) {
    const bool is_sample = path == sample_text_name;
    if (!is_sample && !is_there(path)) return std::nullopt;
    places.push_back(is_sample ? path.native() : fs::absolute(path, failed).native());
    if (!is_utf8(places.back())) return std::nullopt;
  }
  return places;
}

/// Whether the files of a text will not be there when the run needs them again.
bool is_passing(const TextListing& listing, const fs::path& run) {
  if (!listing.repeatable()) return true;
  // A run that repeats another has a text of its own.
  const fs::path path = listing.names.empty() ? "" : listing.names.front();
  std::error_code ignored;
  return path.filename() == kept_text_name && !fs::equivalent(path, run / kept_text_name, ignored);
}

/// The text that reads back as these ids, documents in the order in which they are here; none if it is longer than
/// `most` bytes, or if no one file holds such documents.
std::optional<std::string> text_of(const Corpus& corpus, const DataConfig& data, std::uint64_t most) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const Vocabulary& vocabulary = corpus.vocabulary();
  const std::string between = has_documents(data) ? between_documents(data) : "";
  std::string text;
  for (std::int64_t i = 0; i < corpus.all().size() && text.size() <= most; ++i)
    text += corpus.all()[i] == vocabulary.document() ? between : vocabulary.symbol(corpus.all()[i]);
  if (text.size() > most) return std::nullopt;
  if (text.starts_with(byte_order_mark)) text.insert(0, byte_order_mark);  // as a reader takes one away
  const bool reads_back =
      !has_documents(data) || corpus_from_text(text, data, "", vocabulary).fingerprint() == corpus.fingerprint();
  return reads_back ? std::optional(text) : std::nullopt;
}

}  // namespace

void keep_text_place(const fs::path& run, const TextListing& listing) {
  if (!listing.repeatable()) return;
  std::vector<fs::path> paths;
  for (const TextFile& file : listing.files) paths.push_back(file.path);
  const auto names = absolute({listing.names.begin(), listing.names.end()}), files = absolute(paths);
  if (paths.empty() || !names || !files) return;  // the place already kept is better
  const nlohmann::ordered_json json = {{"version", version}, {"text", *names}, {"files", *files}};
  write_file_atomically(run / file_name, json.dump() + "\n");
}

std::string keep_text(const fs::path& run, const Corpus& corpus, const DataConfig& data) {
  keep_text_place(run, corpus.listing());
  if (!is_passing(corpus.listing(), run)) return "";
  const std::optional<std::string> text = text_of(corpus, data, most_kept_bytes);
  if (!text)
    return "the text cannot be read again, and a run keeps at most " + std::to_string(most_kept_bytes >> 20) +
           " MB of one file: resume, eval and the like will need it as a file, with --text FILE";
  write_file_atomically(run / kept_text_name, *text);
  return "the text cannot be read again, so it is kept in " + printable_path(run / kept_text_name);
}

std::vector<TextListing> text_places(const Strings& names, Units units, const fs::path& run,
                                     std::optional<Error>* refusal) {
  std::vector<TextListing> places;
  if (const fs::path text = run / kept_text_name; is_file(text))
    places.push_back({.names = {text}, .files = {regular_file(text)}});
  try {
    if (TextListing named = list_texts(names, units); named.repeatable()) places.push_back(std::move(named));
  } catch (const Error& error) {
    if (refusal != nullptr && error.code() != ExitCode::missing) *refusal = error;
  }
  if (auto place = last_place(run)) places.push_back(*std::move(place));
  return places;
}

FoundText find_text(const KnownText& known, bool named, const ReadingProgress& progress) {
  const Strings& names = known.data.text;
  const Units units = known.vocabulary.units();
  std::optional<Error> refusal;
  const std::vector<TextListing> places =
      named ? std::vector{list_texts(names, units)} : text_places(names, units, known.run, &refusal);
  std::string difference;
  for (const TextListing& place : places) {
    try {
      Corpus corpus = load_listed(place, known.data, known.vocabulary, progress);
      const bool is_it = known.fingerprint == Fingerprint{} ? named : corpus.fingerprint() == known.fingerprint;
      if (is_it) return {std::move(corpus), place.names};
      difference = difference_of(known.fingerprint, corpus.fingerprint());
    } catch (const Error& error) {
      if (!refusal) refusal = error;
    }
  }
  if (difference.empty() && refusal && refusal->code() != ExitCode::data) throw *refusal;
  if (!difference.empty()) refuse_another(known, "the text", " (" + difference + ")");
  if (!refusal) refuse_missing(known);
  refuse_another(known, std::string(refusal->what()) + "; the text", "");
}

std::string difference_of(const Fingerprint& then, const Fingerprint& now) {
  if (then.tokens == now.tokens) return "as long, but with other characters";
  return std::to_string(then.tokens) + " tokens then, " + std::to_string(now.tokens) + " now";
}

std::string text_difference(const KnownText& one, const KnownText& other) {
  Config then, now;
  then.data = one.data;
  now.data = other.data;
  for (Config* config : {&then, &now})  // a checkpoint has the names alone
    config->data.text = names_of_paths(config->data.text);
  std::vector<std::string> lines = changed_options(then, now, "data");
  leave_out(lines, {"data.max_val_tokens"});  // scored is what all are scored on
  if (one.fingerprint != other.fingerprint || !(one.vocabulary == other.vocabulary))
    return lines.empty() ? difference_of(one.fingerprint, other.fingerprint) : lines.front();
  leave_out(lines, {"data.text", "data.max_symbols"});
  return lines.empty() ? "" : lines.front();
}

std::string advice_for_another_text(const fs::path& run) {
  return std::string(how_to_say_where) +
         "; or train on this one with a fresh optimizer, as a new run: chargpt train --init_from " +
         shell_quoted(run.native()) + " --text FILE";
}

}  // namespace chargpt
