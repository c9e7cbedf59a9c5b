// Where the text of a run is: its files may have been moved or renamed since, or the program started in another
// folder. Their contents decide, never their names. Knows no checkpoint.
//   RUN/text.json: {"version":1,"text":["/absolute/path",…]}: true on this machine only, so no other file of a run has
//   it
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/corpus.h"

namespace chargpt {

/// Files of a text, in order, by the names under which they are opened.
using TextNames = std::vector<std::string>;

/// Writes to RUN/text.json where the files named in data.text are now; leaves it alone if one is missing. Error io.
void keep_text_place(const std::filesystem::path& run, const TextNames& names);

/// Where these files may be found, likeliest first: under the names given, where RUN/text.json says, then by the
/// endings of their names ("data/a.txt", "a.txt") in the run's folder and in each one above it. Only what exists.
std::vector<TextNames> text_places(const TextNames& names, const std::filesystem::path& run);

/// What a run knows about its text.
struct KnownText {
  const DataConfig& data;
  const Vocabulary& vocabulary;
  const Fingerprint& fingerprint;
  std::filesystem::path run;
};

struct FoundText {
  Corpus corpus;
  TextNames names;  ///< of the files that were read
};

/// The text of this fingerprint, from the first of text_places() that holds it. `named`: the user has just
/// given data.text, and no other place will do. Errors: missing if the files are nowhere, data if they hold another
/// text, both with what to do; else as load_corpus.
FoundText find_text(const KnownText& known, bool named, const std::filesystem::path& cache_folder = {},
                    const ReadingProgress& progress = {});

/// "as long, but with other characters", or "3000 tokens then, 6000 now".
std::string difference_of(const Fingerprint& then, const Fingerprint& now);

/// What to do about a text that is not the one a run was trained on: "pass that one with --text FILE, …".
std::string advice_for_another_text(const std::filesystem::path& run);

}  // namespace chargpt
