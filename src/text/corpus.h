// A text as ids and its splits: read and encoded, or made again from what a run has stored. Independent of models and
// batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"
#include "text/text_listing.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Identifies a text in a vocabulary: checked on resume.
struct Fingerprint {
  std::int64_t tokens = 0;
  std::uint64_t crc64 = 0;  ///< CRC-64 of the ids as stored (width 1, 2 or 4, little-endian)
  bool operator==(const Fingerprint&) const = default;
};

/// The ids [begin, end).
struct IdRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// The parts of a text. Of a text with documents, each begins and ends with the id between them, so neighbours share
/// one id.
struct Splits {
  IdRange train, val, test;
};

/// A corpus without the options that it was made with: what reading a text results in, or what a run has stored.
struct CorpusParts {
  Vocabulary vocabulary;
  TokenView tokens = {};
  std::shared_ptr<const void> owner = {};  ///< keeps the ids alive
  Splits splits = {};
  std::int64_t documents = 0, held_out = 0;  ///< documents, and those held out for validation; 0: the text is one
  bool separator_missing = false;            ///< it has no data.separator: it can be scored, but not trained on
  std::vector<std::string> notices = {};
  TextListing listing = {};
};

class Corpus {
 public:
  Corpus(CorpusParts parts, const DataConfig& data);

  const Vocabulary& vocabulary() const { return parts_.vocabulary; }
  TokenView all() const { return parts_.tokens; }
  /// The first int((1 - val_fraction - test_fraction) * n) tokens; or the documents that are not held out.
  TokenView train() const { return slice(parts_.splits.train); }
  /// The first data.max_val_tokens of the tokens behind those, up to int((1 - test_fraction) * n); or as many whole
  /// documents held out for validation as these hold.
  TokenView val() const { return scored_part(parts_.splits.val); }
  /// The first data.max_val_tokens of the rest. Only for a score of the test split.
  TokenView test() const { return scored_part(parts_.splits.test); }
  /// All but the test split.
  TokenView without_test() const { return slice({0, parts_.splits.val.end}); }
  /// Tokens held out for validation and for the test, including those beyond data.max_val_tokens.
  std::int64_t val_tokens() const { return parts_.splits.val.end - parts_.splits.train.end; }
  std::int64_t test_tokens() const { return parts_.splits.test.end - parts_.splits.val.end; }
  /// How many documents the text has, 0 if it is not cut; and how many are held out for validation.
  std::int64_t documents() const { return parts_.documents; }
  std::int64_t held_out_documents() const { return parts_.held_out; }
  /// Everything that a run must store to make the corpus again without reading the text.
  const CorpusParts& parts() const { return parts_; }
  const DataConfig& data() const { return data_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  /// Lines for the user, e.g. "data/mine.txt: byte order mark removed".
  const std::vector<std::string>& notices() const { return parts_.notices; }
  /// The files that it was read from; empty for a corpus that was not read from files.
  const TextListing& listing() const { return parts_.listing; }
  std::int64_t files() const { return std::ssize(listing().files); }

 private:
  TokenView slice(const IdRange& part) const { return all().slice(part.begin, part.size()); }
  TokenView scored_part(const IdRange& part) const;

  CorpusParts parts_;
  DataConfig data_;
  Fingerprint fingerprint_;
};

/// Called after every few megabytes that are read and encoded of a text of more than 64 MB, and at the end; `of` 0: a
/// pipe, whose size is unknown, is being read.
using ReadingProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

/// Reads data.text whole (see list_texts), joins the files and encodes them with the narrowest ids. `vocabulary`:
/// encode with this one (resume, eval, fine-tuning) instead of making one; `unknown` then says what is done with
/// characters that it lacks: they are skipped or replaced, with a notice, or, without a policy too, an Error data.
/// Errors: as list_texts; data for a text that is not UTF-8 (with offset and line), binary, empty, or of too many
/// symbols.
Corpus load_corpus(const DataConfig& data, const std::optional<Vocabulary>& vocabulary = std::nullopt,
                   const ReadingProgress& progress = {}, std::optional<UnknownPolicy> unknown = {});

/// Does the same with files that are listed already; data.text is ignored.
Corpus load_listed(TextListing listing, const DataConfig& data,
                   const std::optional<Vocabulary>& vocabulary = std::nullopt, const ReadingProgress& progress = {},
                   std::optional<UnknownPolicy> unknown = {});

/// Of a text of so many tokens without documents; where it has some, the splits have about these sizes.
Splits splits_by_position(std::int64_t tokens, const DataConfig& data);

/// Error data for a data.separator that does not occur in the text, and, naming lengths and what to change, unless each
/// split has at least one window of block_size + 1 tokens.
void check_splits(const Corpus& corpus, std::int64_t block_size);

/// A corpus from a string in memory, which messages call `source`.
Corpus corpus_from_text(std::string_view text, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary = std::nullopt,
                        std::optional<UnknownPolicy> unknown = {});

}  // namespace chargpt
