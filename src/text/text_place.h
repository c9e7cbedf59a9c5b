// Where the text of a run lies: its files may have been moved or renamed since, or the program be called from another
// folder. What they hold decides, never what they are called. Knows no checkpoint.
//   RUN/text.json: {"version":1,"text":["/absolute/path",…]}: of this machine alone, so no other file of a run has it
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/corpus.h"

namespace chargpt {

/// Files of a text, in order, by the names they are opened by.
using TextNames = std::vector<std::string>;

/// Writes into RUN/text.json where the files named in data.text lie now; leaves it alone where one is not there. Error
/// io.
void keep_text_place(const std::filesystem::path& run, const TextNames& names);

/// Where these files are to be found, likeliest first: as they are named, where RUN/text.json says, then by the endings
/// of their names ("data/a.txt", "a.txt") in the run's folder and in each one above it. Only what is there.
std::vector<TextNames> text_places(const TextNames& names, const std::filesystem::path& run);

/// What a run knows of its text.
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

/// The text of this fingerprint, from the first of text_places() that holds it. `named`: data.text is what the user has
/// just said, and no other place will do. Errors: missing where the files are nowhere, data where they hold another
/// text, both with what to do; else as load_corpus.
FoundText find_text(const KnownText& known, bool named, const std::filesystem::path& cache_folder = {},
                    const ReadingProgress& progress = {});

/// "as long, but other characters", or "3000 tokens then, 6000 now".
std::string difference_of(const Fingerprint& then, const Fingerprint& now);

/// What to do about a text that is not the one a run was trained on: "give that one by --text FILE, …".
std::string advice_for_another_text(const std::filesystem::path& run);

}  // namespace chargpt
