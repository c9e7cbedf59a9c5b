// The text of a run. RUN/text.safetensors has its ids, so no command needs the files again; RUN/run.json has where they
// were, for a text that is too long to be kept. Contents decide, never names. Independent of checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "text/corpus.h"
#include "text/text_listing.h"

namespace chargpt {

inline constexpr const char* kept_text_name = "text.safetensors";
/// Bytes of ids; a longer text is not kept.
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{1} << 30;

/// Whether RUN/text.safetensors is written, or a link to that of another run in the same folder where it has the same
/// bytes.
enum class Keep { own, shared };

/// Writes RUN/text.safetensors, and to RUN/run.json where the files are. Returns a line for people if a text that
/// cannot be read again is too long to be kept; else "". Error io.
std::string keep_text(const std::filesystem::path& run, const Corpus& corpus, Keep keep = Keep::own);

/// What RUN/text.safetensors holds: none if it is not there, or was split by other options than these. Errors: io; data
/// for a damaged or hostile file.
std::optional<Corpus> kept_text(const std::filesystem::path& run, const DataConfig& data);

/// What a run knows about its text.
struct KnownText {
  const DataConfig& data;
  const Vocabulary& vocabulary;
  const Fingerprint& fingerprint;
  std::filesystem::path run = {};
};

struct FoundText {
  Corpus corpus;
  std::string damage;  ///< what is wrong with the text that the run has kept; or ""
};

/// The text of this fingerprint: the one that the run has kept; else from the files that run.json names. `named`: the
/// user has just given data.text, and no other place will do. Errors: missing if it is not there, data if the files
/// hold another text, both with what to do; else as load_corpus.
FoundText find_text(const KnownText& known, bool named, const ReadingProgress& progress = {});

/// "as long, but with other characters", or "3000 tokens then, 6000 now".
std::string difference_of(const Fingerprint& then, const Fingerprint& now);

/// In what the texts of two runs differ, or the parts of them that are held out: "data.val_fraction 0.1 -> 0.2"; empty
/// where both have learned from the same part of the same text.
std::string text_difference(const KnownText& one, const KnownText& other);

}  // namespace chargpt
