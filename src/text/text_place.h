// Where the text of a run is: its files may have been moved or renamed since, or the program started in another
// folder. Their contents decide, never their names. Knows no checkpoint.
//   RUN/text.json: {"version":1,"text":["/absolute/path",…],"files":["/absolute/path",…]}: what was named, and the
//     files that were read, in order. True on this machine only, so no other file of a run has it.
//   RUN/kept-text.txt: the whole text, where it came from a pipe or standard input and could not be read again
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/corpus.h"
#include "text/text_listing.h"

namespace chargpt {

inline constexpr const char* kept_text_name = "kept-text.txt";

/// Writes to RUN/text.json where these files are now; leaves it alone if one is missing or can be read only once. Error
/// io.
void keep_text_place(const std::filesystem::path& run, const TextListing& listing);

/// The same of the files that `corpus` was read from as `data` says; and writes RUN/kept-text.txt if they cannot be
/// read again and one file of at most 64 MB can hold them. Returns a line for people where it did, or could not; else
/// "". Error io.
std::string keep_text(const std::filesystem::path& run, const Corpus& corpus, const DataConfig& data);

/// Where these texts may be found, in the order in which they are tried: RUN/kept-text.txt; under the names given; the
/// files that RUN/text.json lists, where they were last. Only what is there and can be read again. `refusal` becomes
/// why what is there under the names cannot be used.
std::vector<TextListing> text_places(const Strings& names, Units units, const std::filesystem::path& run,
                                     std::optional<Error>* refusal = nullptr);

/// What a run knows about its text.
struct KnownText {
  const DataConfig& data;
  const Vocabulary& vocabulary;
  const Fingerprint& fingerprint;
  std::filesystem::path run = {};
};

struct FoundText {
  Corpus corpus;
  Strings names;  ///< of the texts that were read
};

/// The text of this fingerprint, from the first of text_places() that holds it. `named`: the user has just
/// given data.text, and no other place will do. Errors: missing if the files are nowhere, data if they hold another
/// text, both with what to do; else as load_corpus.
FoundText find_text(const KnownText& known, bool named, const ReadingProgress& progress = {});

/// "as long, but with other characters", or "3000 tokens then, 6000 now".
std::string difference_of(const Fingerprint& then, const Fingerprint& now);

/// In what the texts of two runs differ, or the parts of them that are held out: "data.val_fraction 0.1 -> 0.2"; empty
/// where both have learned from the same part of the same text.
std::string text_difference(const KnownText& one, const KnownText& other);

/// What to do about a text that is not the one a run was trained on: "say where it is with --text FILE …; or …".
std::string advice_for_another_text(const std::filesystem::path& run);

}  // namespace chargpt
