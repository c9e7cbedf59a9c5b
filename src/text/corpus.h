// A text as token ids with its splits: read and encoded, or restored from what a run has stored. Independent of models
// and batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "config/config.h"
#include "text/text_listing.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Identifies a text and its vocabulary; a resumed run compares it.
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

/// The splits of a text. With documents, each split begins and ends with the id between documents, so neighbours share
/// one id.
struct Splits {
  IdRange train, val, test;
};

/// What reading a text yields, or a run has stored: a corpus without its options.
struct CorpusParts {
  Vocabulary vocabulary;
  TokenView tokens = {};
  std::shared_ptr<const void> owner = {};  ///< owns the ids
  Splits splits = {};
  bool separator_missing = false;  ///< the text has no data.separator: it can be scored, but not trained on
  std::vector<std::string> notices = {};
  TextListing listing = {};
};

class Corpus {
 public:
  Corpus(CorpusParts parts, const DataConfig& data);

  const Vocabulary& vocabulary() const { return parts_.vocabulary; }
  TokenView all() const { return parts_.tokens; }
  /// The first int((1 - val_fraction - test_fraction) * n) tokens; with documents, those that are not held out.
  TokenView train() const { return slice(parts_.splits.train); }
  /// The tokens after train() up to int((1 - test_fraction) * n), at most data.max_val_tokens of them; with documents,
  /// as many whole ones held out for validation as fit into that limit.
  TokenView val() const { return scored_part(parts_.splits.val); }
  /// The remaining tokens, at most data.max_val_tokens. Only for a score of the test split.
  TokenView test() const { return scored_part(parts_.splits.test); }
  /// Train and validation split together.
  TokenView without_test() const { return slice({0, parts_.splits.val.end}); }
  /// Tokens held out for validation, and for the test. data.max_val_tokens does not limit them.
  std::int64_t val_tokens() const { return parts_.splits.val.end - parts_.splits.train.end; }
  std::int64_t test_tokens() const { return parts_.splits.test.end - parts_.splits.val.end; }
  /// Whether the text is divided into documents.
  bool is_divided() const { return all().document() != TokenView::no_document; }
  /// Everything that a run must store to restore the corpus without reading the text.
  const CorpusParts& parts() const { return parts_; }
  const DataConfig& data() const { return data_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  /// Lines for the user, e.g. "data/mine.txt: byte order mark removed".
  const std::vector<std::string>& notices() const { return parts_.notices; }
  /// The files that the text was read from; empty for a corpus from memory.
  const TextListing& listing() const { return parts_.listing; }
  std::int64_t files() const { return std::ssize(listing().files); }

 private:
  TokenView slice(const IdRange& part) const { return all().slice(part.begin, part.size()); }
  TokenView scored_part(const IdRange& part) const;

  CorpusParts parts_;
  DataConfig data_;
  Fingerprint fingerprint_;
};

/// Reads all of data.text (see list_texts), joins the files and encodes them with the narrowest ids. `vocabulary`: use
/// this one (resume, eval, fine-tuning) instead of making one. `unknown`: skip or replace characters that it lacks,
/// with a notice; without a policy they are Error data. `heartbeat`: also called while a pipe has no bytes. Errors: as
/// list_texts; data for a text that is not UTF-8 (with offset and line), is binary or empty, or has too many symbols.
Corpus load_corpus(const DataConfig& data, const std::optional<Vocabulary>& vocabulary = std::nullopt,
                   const Heartbeat& heartbeat = {}, std::optional<UnknownPolicy> unknown = {});

/// The splits of a text of `tokens` ids without documents. Splits of documents have about these sizes.
Splits splits_by_position(std::int64_t tokens, const DataConfig& data);

/// Error data if data.separator does not occur in the text, or if a split has less than one window of block_size + 1
/// tokens; then the message says what to change.
void check_splits(const Corpus& corpus, std::int64_t block_size);

/// Makes a corpus from a string in memory, which messages call `source`. Errors: data, as load_corpus.
Corpus corpus_from_text(std::string_view text, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary = std::nullopt,
                        std::optional<UnknownPolicy> unknown = {});

}  // namespace chargpt
