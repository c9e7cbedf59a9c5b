#include "text/text_place.h"

#include <algorithm>
#include <map>
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

bool is_regular(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// What RUN/text.json says of one name.
struct KeptPlace {
  std::string place;  ///< empty: nothing
  std::optional<std::vector<ListedFile>> files = {};
};

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

/// What RUN/text.json says about `count` names; nothing of each if nothing usable: then the text is looked for
/// elsewhere.
std::vector<KeptPlace> kept_places(const fs::path& run, std::size_t count) {
  const fs::path path = run / file_name;
  if (!is_regular(path)) return std::vector<KeptPlace>(count);
  try {
    const auto json = nlohmann::json::parse(read_regular_file(path, most_bytes));
    const auto names = json.at("text").get<TextNames>();
    std::vector<KeptPlace> places;
    for (std::size_t i = 0; i < names.size(); ++i) {
      places.push_back({names[i]});
      if (json.contains("files")) places.back().files = files_of(json["files"].at(i));
    }
    if (json.at("version") == version && names.size() == count) return places;
  } catch (const nlohmann::json::exception&) {
  } catch (const Error&) {
  }
  return std::vector<KeptPlace>(count);
}

/// The run's folder and those above it, nearest first.
std::vector<fs::path> folders_around(const fs::path& run) {
  std::error_code ignored;
  const fs::path start = fs::weakly_canonical(fs::absolute(run, ignored), ignored);
  std::vector<fs::path> folders;
  for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
    folders.push_back(folder);
    if (folder == folder.parent_path()) break;
  }
  return folders;
}

/// "data/a.txt" and "a.txt" of "/home/data/a.txt", and so on, longest first.
std::vector<fs::path> endings_of(const fs::path& path) {
  std::vector<fs::path> endings;
  fs::path ending;
  const fs::path relative = path.relative_path();
  for (auto part = relative.end(); part != relative.begin();) {
    ending = ending.empty() ? *--part : *--part / ending;
    endings.insert(endings.begin(), ending);
  }
  return endings;
}

/// A regular file of that name, if there is one.
std::optional<ListedText> file_at(const fs::path& path) {
  if (!is_regular(path)) return std::nullopt;
  std::error_code ignored;
  return ListedText{
      .name = path.native(), .kind = TextKind::file, .base = {}, .files = {{path, fs::file_size(path, ignored)}}};
}

/// The files of a folder or pattern below `base`, if each is there and as long as it was.
std::optional<ListedText> files_at(const std::vector<ListedFile>& files, const fs::path& base,
                                   const std::string& name) {
  std::error_code failed;
  for (const ListedFile& file : files)
    if (!is_regular(base / file.name) || fs::file_size(base / file.name, failed) != file.bytes) return std::nullopt;
  return ListedText{.name = name, .kind = TextKind::folder, .base = base, .files = files};
}

/// A text that may or may not be there.
using Candidates = std::vector<std::optional<ListedText>>;

/// What `name` stands for now; `refusal` gets why it cannot be used if it is there.
std::optional<ListedText> present(const std::string& name, Units units, std::optional<Error>& refusal) {
  if (name == standard_input_name) return std::nullopt;
  try {
    return list_texts({name}, units).texts.front();
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing && !refusal) refusal = error;
  }
  return std::nullopt;
}

/// Endings of the place of a folder or pattern; that of the working folder has none, and may be any folder itself.
std::vector<fs::path> endings_of_base(const fs::path& base) {
  return base == "." ? std::vector<fs::path>{""} : endings_of(base);
}

/// Each text's places, likeliest first, the same number before those in folders; only that of its own name may be
/// something other than regular files (a pipe).
Candidates candidates_of(const std::string& name, const KeptPlace& kept, const std::vector<fs::path>& folders,
                         std::optional<ListedText> now) {
  if (name == sample_text_name) return {std::move(now)};
  Candidates candidates;
  const fs::path base = kept.files ? base_of_texts(name) : fs::path();
  if (kept.files) candidates.push_back(files_at(*kept.files, base, name));
  candidates.push_back(std::move(now));
  const auto at = [&](const fs::path& place) {
    candidates.push_back(kept.files ? files_at(*kept.files, place, place.native()) : file_at(place));
  };
  if (name == standard_input_name) return candidates;
  if (!kept.place.empty()) at(kept.place);
  for (const fs::path& folder : folders)
    for (const fs::path& ending : kept.files ? endings_of_base(base) : endings_of(name))
      at((folder / ending).lexically_normal());
  return candidates;
}

/// Of each text the candidate of this rank or else the likeliest; none if one has no candidate.
std::optional<TextListing> listing_of(const std::vector<Candidates>& of_each, std::size_t rank) {
  TextListing listing;
  for (const Candidates& candidates : of_each) {
    const auto likeliest = std::ranges::find_if(candidates, [](const auto& text) { return text.has_value(); });
    if (likeliest == candidates.end()) return std::nullopt;
    listing.texts.push_back(rank < candidates.size() && candidates[rank] ? *candidates[rank] : **likeliest);
  }
  return listing;
}

bool same_files(const TextListing& a, const TextListing& b) {
  return std::ranges::equal(a.texts, b.texts, [](const ListedText& one, const ListedText& other) {
    return one.kind == other.kind && one.base == other.base && one.files == other.files &&
           (!one.files.empty() || one.name == other.name);
  });
}

void add_place(std::vector<TextListing>& places, std::optional<TextListing> listing) {
  if (!listing) return;
  for (const TextListing& place : places)
    if (same_files(place, *listing)) return;
  places.push_back(*std::move(listing));
}

/// A folder or pattern is the same whether its files were listed before or just now.
std::optional<ListedText> as_kept(std::optional<ListedText> text, const KeptPlace& kept) {
  if (!text || !kept.files || !text->is_many()) return text;
  text->kind = TextKind::folder;
  text->base = base_of_texts(text->name);
  return text;
}

/// What is known about where a run's texts are.
struct Known {
  std::vector<KeptPlace> kept;
  Candidates now;  ///< what each name stands for
  std::optional<Error> refusal;
};

Known look_up(const TextNames& names, Units units, const fs::path& run) {
  Known known{.kept = kept_places(run, names.size()), .now = {}, .refusal = {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    known.now.push_back(as_kept(present(names[i], units, known.refusal), known.kept[i]));
  return known;
}

std::vector<TextListing> places_of(const TextNames& names, const Known& known, const fs::path& run) {
  const std::vector<fs::path> folders = folders_around(run);
  std::vector<Candidates> of_each;
  std::size_t most_places = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    of_each.push_back(candidates_of(names[i], known.kept[i], folders, known.now[i]));
    most_places = std::max(most_places, of_each.back().size());
  }
  std::vector<TextListing> places;
  if (auto kept_text = file_at(run / kept_text_name)) places.push_back({.texts = {*std::move(kept_text)}});
  for (std::size_t rank = 0; rank < most_places; ++rank) add_place(places, listing_of(of_each, rank));
  return places;
}

/// Where the user says that the texts are: what is there now, and if the run began with fewer files, those.
std::vector<TextListing> named_places(const TextNames& names, Units units, const std::vector<KeptPlace>& kept) {
  TextListing now = list_texts(names, units);
  TextListing then = now;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (kept[i].files && now.texts[i].is_many())
      if (auto files = files_at(*kept[i].files, now.texts[i].base, names[i])) then.texts[i] = *std::move(files);
  std::vector<TextListing> places;
  if (!std::ranges::equal(then.texts, now.texts, {}, &ListedText::files, &ListedText::files)) places.push_back(then);
  places.push_back(std::move(now));
  return places;
}

std::string number_of(const std::vector<std::string>& files) {
  return std::to_string(files.size()) + (files.size() == 1 ? " file" : " files");
}

/// "book now holds 3 files more (a, b, c), lacks 1 file (d)"; "" if it has the files it had.
std::string difference_of(const std::string& name, const std::vector<ListedFile>& then,
                          const std::vector<ListedFile>& now) {
  std::map<fs::path, std::uint64_t> before;
  for (const ListedFile& file : then) before.emplace(file.name, file.bytes);
  std::vector<std::string> more, other, fewer, parts;
  for (const ListedFile& file : now) {
    const auto found = before.find(file.name);
    if (found == before.end()) more.push_back(printable_path(file.name));
    if (found == before.end()) continue;
    if (found->second != file.bytes) other.push_back(printable_path(file.name));
    before.erase(found);
  }
  for (const auto& [file, bytes] : before) fewer.push_back(printable_path(file));
  if (!more.empty()) parts.push_back("holds " + number_of(more) + " more (" + some_of(more) + ")");
  if (!fewer.empty()) parts.push_back("lacks " + number_of(fewer) + " (" + some_of(fewer) + ")");
  if (!other.empty()) parts.push_back("has another length of " + number_of(other) + " (" + some_of(other) + ")");
  return parts.empty() ? "" : printable_path(name) + " now " + joined(parts, ", ");
}

/// How folders and patterns differ from what they were when the run began, where that is known. `found`: only those
/// that the text was found under.
std::vector<std::string> differences_of(const TextNames& names, const Known& known, const TextListing* found) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!known.kept[i].files || !known.now[i] || !known.now[i]->is_many()) continue;
    if (found != nullptr && (found->texts.size() != names.size() || found->texts[i].name != names[i])) continue;
    lines.push_back(difference_of(names[i], *known.kept[i].files, known.now[i]->files));
  }
  std::erase(lines, "");
  return lines;
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
  throw Error(
      ExitCode::missing,
      listed(known.data.text) + ", the text of " + known.run.string() +
          ", is not there, where it was before, or beside the run; pass it with --text FILE, wherever it is now " +
          "(relative paths start at the working folder)");
}

[[noreturn]] void refuse_another(const KnownText& known, const std::string& what, const std::string& how) {
  throw Error(ExitCode::data, what + " is not the one that " + known.run.string() + " was trained on" + how + "; " +
                                  advice_for_another_text(known.run));
}

/// Reads the text at one place; none if another text is there. What cannot be read at all is an Error.
std::optional<Corpus> text_at(const TextListing& listing, const KnownText& known, const fs::path& cache_folder,
                              const ReadingProgress& progress, std::string& difference) {
  Corpus corpus = load_listed(listing, known.data, cache_folder, known.vocabulary, most_bytes_in_memory, progress);
  if (corpus.fingerprint() == known.fingerprint) return corpus;
  difference = difference_of(known.fingerprint, corpus.fingerprint());
  return std::nullopt;
}

/// Of a folder or pattern; null if JSON cannot hold the names.
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
  const fs::path place = !text.is_many() ? fs::path(text.name) : text.base.empty() ? fs::path(".") : text.base;
  return fs::exists(place, gone) ? fs::absolute(place, gone).native() : "";
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
    json["files"].push_back(text.is_many() ? to_json(text.files) : nlohmann::ordered_json());
  }
  if (!listing.texts.empty()) write_file_atomically(run / file_name, json.dump() + "\n");
}

std::string keep_text(const fs::path& run, const Corpus& corpus) {
  keep_text_place(run, corpus.listing());
  if (!is_passing(corpus.listing(), run)) return "";
  const std::optional<std::string> text = text_of(corpus, most_bytes_in_memory);
  if (!text)
    return "the text cannot be read again and is longer than the " + std::to_string(most_bytes_in_memory >> 20) +
           " MB that a run keeps: resume, eval and the like will need it as a file, with --text FILE";
  write_file_atomically(run / kept_text_name, *text);
  return "the text cannot be read again, so it is kept in " + printable_path(run / kept_text_name);
}

std::vector<TextListing> text_places(const TextNames& names, Units units, const fs::path& run) {
  return places_of(names, look_up(names, units, run), run);
}

FoundText find_text(const KnownText& known, bool named, const fs::path& cache_folder, const ReadingProgress& progress) {
  const TextNames& names = known.data.text;
  const Units units = known.vocabulary.units();
  const Known about = look_up(names, units, known.run);
  const std::vector<TextListing> places =
      named ? named_places(names, units, about.kept) : places_of(names, about, known.run);
  std::optional<Error> refusal = about.refusal;
  std::string difference;
  for (const TextListing& place : places) {
    try {
      if (auto corpus = text_at(place, known, cache_folder, progress, difference))
        return {*std::move(corpus), place.names(), differences_of(names, about, &place)};
    } catch (const Error& error) {
      if (!refusal) refusal = error;
    }
  }
  if (difference.empty() && refusal && refusal->code() != ExitCode::data) throw *refusal;
  for (const std::string& line : differences_of(names, about, nullptr))
    difference += (difference.empty() ? "" : "; ") + line;
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
