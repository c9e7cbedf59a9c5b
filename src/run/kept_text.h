// The text of a run. RUN/text.safetensors has its ids, so commands need not read the files again. RUN/run.json has
// their paths, for a text too long to keep. A text is identified by its contents, never by names. Independent of
// checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/heartbeat.h"
#include "text/corpus.h"
#include "text/text_listing.h"

namespace chargpt {

inline constexpr const char* kept_text_name = "text.safetensors";
/// Maximum size of the ids; a longer text is not kept.
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{1} << 30;

/// own: write RUN/text.safetensors. shared: link it to the same file of another run in the same folder, if there is
/// one.
enum class Keep { own, shared };

/// Writes RUN/text.safetensors, and the files' paths to RUN/run.json. Returns a line for people if the text is too long
/// to keep and cannot be read again, else "". Errors: io.
std::string keep_text(const std::filesystem::path& run, const Corpus& corpus, Keep keep = Keep::own);

/// Reads RUN/text.safetensors; nullopt if it does not exist. A text with documents keeps its splits, whatever `data`
/// says. Errors: io; data for a damaged or malicious file.
std::optional<Corpus> kept_text(const std::filesystem::path& run, const DataConfig& data);

/// How a run identifies its text.
struct KnownText {
  const DataConfig& data;
  const Vocabulary& vocabulary;
  const Fingerprint& fingerprint;
  std::filesystem::path run = {};
};

struct FoundText {
  Corpus corpus;
  std::string damage;  ///< the fault of the run's own copy, which was not used; or ""
};

/// Finds the text with this fingerprint: the run's own copy, or else the files named in run.json. `named`: the user has
/// just given data.text, so only these files count. Errors, with advice: missing if the text is not found, data if the
/// files contain another text; else as load_corpus.
FoundText find_text(const KnownText& known, bool named, const Heartbeat& heartbeat = {});

/// How two texts differ: "as long, but with other characters", or "3000 tokens then, 6000 now".
std::string difference_of(const Fingerprint& then, const Fingerprint& now);

/// How the texts of two runs, or their held-out parts, differ: "data.val_fraction 0.1 -> 0.2"; "" if both runs learned
/// from the same part of the same text.
std::string text_difference(const KnownText& one, const KnownText& other);

}  // namespace chargpt
