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
constexpr std::uint64_t most_bytes = 1 << 20;
constexpr int version = 1;

bool is_regular(const std::string& name) {
  std::error_code ignored;
  return fs::is_regular_file(name, ignored);
}

bool is_there(const std::string& name) {
  std::error_code ignored;
  return name == sample_text_name || fs::exists(name, ignored);
}

/// What RUN/text.json says about `count` files; empty if nothing usable: then the text is looked for elsewhere.
TextNames kept_names(const fs::path& run, std::size_t count) {
  const fs::path path = run / file_name;
  if (!is_regular(path.native())) return {};
  try {
    const auto json = nlohmann::json::parse(read_file(path, most_bytes));
    const auto names = json.at("text").get<TextNames>();
    if (json.at("version") == version && names.size() == count) return names;
  } catch (const nlohmann::json::exception&) {
  } catch (const Error&) {
  }
  return {};
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

/// Each file's places, likeliest first; only the first may be something other than a regular file (a pipe).
std::vector<std::string> places_of(const std::string& name, const std::string& kept,
                                   const std::vector<fs::path>& folders) {
  std::vector<std::string> places{name};
  if (name == sample_text_name) return places;
  if (!kept.empty()) places.push_back(kept);
  for (const fs::path& folder : folders)
    for (const fs::path& ending : endings_of(name)) places.push_back((folder / ending).lexically_normal().native());
  return places;
}

std::string listed(const TextNames& names) {
  TextNames shown;
  for (const std::string& name : names) shown.push_back(printable_path(name));
  return joined(shown, ", ");
}

[[noreturn]] void refuse_missing(const KnownText& known) {
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
std::optional<Corpus> text_at(const TextNames& names, const KnownText& known, const fs::path& cache_folder,
                              const ReadingProgress& progress, std::string& difference) {
  DataConfig data = known.data;
  data.text = names;
  Corpus corpus = load_corpus(data, cache_folder, known.vocabulary, most_bytes_in_memory, progress);
  if (corpus.fingerprint() == known.fingerprint) return corpus;
  difference = difference_of(known.fingerprint, corpus.fingerprint());
  return std::nullopt;
}

}  // namespace

void keep_text_place(const fs::path& run, const TextNames& names) {
  if (!std::all_of(names.begin(), names.end(), is_there)) return;  // the place already kept is better
  nlohmann::ordered_json json = {{"version", version}, {"text", nlohmann::json::array()}};
  for (const std::string& name : names) {
    const std::string place = name == sample_text_name ? name : fs::absolute(name).native();
    if (!is_utf8(place)) return;  // JSON cannot hold it
    json["text"].push_back(place);
  }
  write_file_atomically(run / file_name, json.dump() + "\n");
}

std::vector<TextNames> text_places(const TextNames& names, const fs::path& run) {
  const std::vector<fs::path> folders = folders_around(run);
  const TextNames kept = kept_names(run, names.size());
  std::vector<std::vector<std::string>> of_each;
  std::size_t most_places = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    of_each.push_back(places_of(names[i], kept.empty() ? "" : kept[i], folders));
    most_places = std::max(most_places, of_each.back().size());
  }

  std::vector<TextNames> places;
  for (std::size_t rank = 0; rank < most_places; ++rank) {
    TextNames found;
    for (const auto& candidates : of_each) {
      // If the file is not at this place, the likeliest one that has it.
      const auto good = [&](std::size_t i) {
        return i < candidates.size() && (i == 0 ? is_there(candidates[i]) : is_regular(candidates[i]));
      };
      std::size_t chosen = rank;
      for (std::size_t i = 0; !good(chosen) && i < candidates.size(); ++i) chosen = i;
      if (good(chosen)) found.push_back(candidates[chosen]);
    }
    if (found.size() == names.size() && std::find(places.begin(), places.end(), found) == places.end())
      places.push_back(std::move(found));
  }
  return places;
}

FoundText find_text(const KnownText& known, bool named, const fs::path& cache_folder, const ReadingProgress& progress) {
  const std::vector<TextNames> places =
      named ? std::vector<TextNames>{known.data.text} : text_places(known.data.text, known.run);
  std::optional<Error> refusal;
  std::string difference;
  for (const TextNames& names : places) {
    try {
      if (auto corpus = text_at(names, known, cache_folder, progress, difference)) return {*std::move(corpus), names};
    } catch (const Error& error) {
      if (!refusal) refusal = error;
    }
  }
  if (!difference.empty()) refuse_another(known, "the text", " (" + difference + ")");
  if (!refusal) refuse_missing(known);
  if (refusal->code() != ExitCode::data) throw *refusal;
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
         run.string() + " --text FILE";
}

}  // namespace chargpt
