#include "text/text_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/sample_text.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "text.json";
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr int version = 1;
constexpr std::uint64_t most_kept_bytes = std::uint64_t{64} << 20;  ///< of a text that cannot be read again

bool is_regular(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Whether it is a name below a folder, and of nothing outside it.
bool is_below(const fs::path& name) {
  return !name.empty() && name.is_relative() && name.lexically_normal() == name && *name.begin() != "..";
}

std::optional<std::vector<ListedFile>> files_of(const nlohmann::json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<ListedFile> files;
  for (const nlohmann::json& file : json) {
    files.push_back({file.at(0).get<std::string>(), file.at(1).get<std::uint64_t>()});
    if (!is_below(files.back().name)) return std::nullopt;
  }
  return files;
}

/// A text as RUN/text.json has it; none if one of its files is not there, or not as long as it was.
std::optional<ListedText> text_in_place(const fs::path& place, const std::optional<std::vector<ListedFile>>& files) {
  if (place == sample_text_name) return ListedText{.name = place, .kind = TextKind::sample};
  if (!files && is_regular(place)) return ListedText{.name = place, .files = {{place, fs::file_size(place)}}};
  if (!files) return std::nullopt;
  std::error_code failed;
  for (const ListedFile& file : *files)
    if (!is_regular(place / file.name) || fs::file_size(place / file.name, failed) != file.bytes) return std::nullopt;
  return ListedText{.name = place, .kind = TextKind::folder, .files = *files};
}

/// Where RUN/text.json says; none if one of the texts is not there, or the file says nothing usable.
std::optional<TextListing> last_place(const fs::path& run) {
  if (!is_regular(run / file_name)) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(read_regular_file(run / file_name, most_bytes));
    if (json.at("version") != version) return std::nullopt;
    const auto names = json.at("text").get<TextNames>();
    TextListing listing;
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto text = text_in_place(names[i], json.contains("files") ? files_of(json["files"].at(i)) : std::nullopt);
      if (!text) return std::nullopt;
      listing.texts.push_back(*std::move(text));
    }
    return listing;
  } catch (const nlohmann::json::exception&) {
  } catch (const Error&) {
  }
  return std::nullopt;
}

/// `refusal` gets why what is there cannot be used.
std::vector<TextListing> places_of(const TextNames& names, Units units, const fs::path& run,
                                   std::optional<Error>& refusal) {
  std::vector<TextListing> places;
  if (const fs::path text = run / kept_text_name; is_regular(text))
    places.push_back({.texts = {{.name = text, .files = {{text, fs::file_size(text)}}}}});
  if (std::ranges::count(names, standard_input_name) > 0) return places;
  try {
    places.push_back(list_texts(names, units));
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing) refusal = error;
  }
  if (auto place = last_place(run)) places.push_back(*std::move(place));
  return places;
}

std::string listed(const TextNames& names) {
  TextNames shown;
  for (const std::string& name : names) shown.push_back(printable_path(name));
  return joined(shown, ", ");
}

[[noreturn]] void refuse_missing(const KnownText& known) {
  if (std::ranges::count(known.data.text, standard_input_name) > 0)
    throw Error(ExitCode::missing,
                "the text of " + known.run.string() +
                    " came from standard input and is not kept in the run; pass it with --text FILE");
  throw Error(ExitCode::missing,
              listed(known.data.text) + ", the text of " + known.run.string() +
                  ", is neither there nor where it was last; pass it with --text FILE, wherever it is now " +
                  "(relative paths start at the working folder)");
}

[[noreturn]] void refuse_another(const KnownText& known, const std::string& what, const std::string& how) {
  throw Error(ExitCode::data, what + " is not the one that " + known.run.string() + " was trained on" + how + "; " +
                                  advice_for_another_text(known.run));
}

/// Reads the text at one place; none if another text is there. What cannot be read at all is an Error.
std::optional<Corpus> text_at(const TextListing& listing, const KnownText& known, const ReadingProgress& progress,
                              std::string& difference) {
  Corpus corpus = load_listed(listing, known.data, known.vocabulary, progress);
  if (corpus.fingerprint() == known.fingerprint) return corpus;
  difference = difference_of(known.fingerprint, corpus.fingerprint());
  return std::nullopt;
}

/// Of a folder; null if JSON cannot hold the names.
nlohmann::ordered_json to_json(const std::vector<ListedFile>& files) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ListedFile& file : files) {
    if (!is_utf8(file.name.native())) return nullptr;
    json.push_back({file.name.native(), file.bytes});
  }
  return json;
}

/// "" if it is not there any more.
std::string place_of(const ListedText& text) {
  if (text.kind == TextKind::sample || text.kind == TextKind::standard_input) return text.name;
  std::error_code gone;
  return fs::exists(text.name, gone) ? fs::absolute(text.name, gone).native() : "";
}

/// Whether the files of a text will not be there when the run needs them again.
bool is_passing(const TextListing& listing, const fs::path& run) {
  if (!listing.repeatable()) return true;
  // A run that branches off another has a text of its own.
  const fs::path path = listing.texts.empty() ? "" : listing.texts.front().name;
  std::error_code ignored;
  return path.filename() == kept_text_name && !fs::equivalent(path, run / kept_text_name, ignored);
}

/// The text that reads back as these ids; none if it is longer than `most` bytes.
std::optional<std::string> text_of(const Corpus& corpus, std::uint64_t most) {
  constexpr std::int64_t piece = 1 << 16;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string text;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < corpus.all().size(); i += piece) {
    ids.resize(static_cast<std::size_t>(std::min(piece, corpus.all().size() - i)));
    corpus.all().copy(i, std::ssize(ids), ids.data());
    text += corpus.vocabulary().decode(ids);
    if (text.size() > most) return std::nullopt;
  }
  return text.starts_with(byte_order_mark) ? std::string(byte_order_mark) + text : text;  // as a reader takes one away
}

}  // namespace

void keep_text_place(const fs::path& run, const TextListing& listing) {
  nlohmann::ordered_json json = {
      {"version", version}, {"text", nlohmann::json::array()}, {"files", nlohmann::json::array()}};
  for (const ListedText& text : listing.texts) {
    const std::string place = place_of(text);
    if (place.empty() || !is_utf8(place)) return;  // the place already kept is better, or JSON cannot hold it
    json["text"].push_back(place);
    json["files"].push_back(text.is_folder() ? to_json(text.files) : nlohmann::ordered_json());
  }
  if (!listing.texts.empty()) write_file_atomically(run / file_name, json.dump() + "\n");
}

std::string keep_text(const fs::path& run, const Corpus& corpus) {
  keep_text_place(run, corpus.listing());
  if (!is_passing(corpus.listing(), run)) return "";
  const std::optional<std::string> text = text_of(corpus, most_kept_bytes);
  if (!text)
    return "the text cannot be read again and is longer than the " + std::to_string(most_kept_bytes >> 20) +
           " MB that a run keeps: resume, eval and the like will need it as a file, with --text FILE";
  write_file_atomically(run / kept_text_name, *text);
  return "the text cannot be read again, so it is kept in " + printable_path(run / kept_text_name);
}

std::vector<TextListing> text_places(const TextNames& names, Units units, const fs::path& run) {
  std::optional<Error> ignored;
  return places_of(names, units, run, ignored);
}

FoundText find_text(const KnownText& known, bool named, const ReadingProgress& progress) {
  const TextNames& names = known.data.text;
  const Units units = known.vocabulary.units();
  std::optional<Error> refusal;
  const std::vector<TextListing> places =
      named ? std::vector{list_texts(names, units)} : places_of(names, units, known.run, refusal);
  std::string difference;
  for (const TextListing& place : places) {
    try {
      if (auto corpus = text_at(place, known, progress, difference)) return {*std::move(corpus), place.names()};
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

std::string advice_for_another_text(const fs::path& run) {
  return "pass that one with --text FILE, wherever it is now; or train on this one with a fresh optimizer, as a new "
         "run: "
         "chargpt train --init_from " +
         shell_quoted(run.native()) + " --text FILE";
}

}  // namespace chargpt
