// A text as ids: read strictly, counted, split by position. Knows no model and no batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"
#include "text/text_listing.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Tells one text (in one vocabulary) from another: checked on resume.
struct Fingerprint {
  std::int64_t tokens = 0;
  std::uint64_t crc64 = 0;  ///< CRC-64 of the ids as stored (width 1, 2 or 4, little-endian)
  bool operator==(const Fingerprint&) const = default;
};

/// The parts of a text held out: its last `test`, which only a test score reads, before that `fraction` for validation;
/// of each the first `most` tokens are scored.
struct Holdout {
  double fraction = 0.1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  double test = 0;
};

/// The documents of a text, which has them in the order drawn for the split (see documents.h).
struct DocumentSplit {
  std::int64_t count = 0, held_out = 0;  ///< count 0: the text is one; held out for validation
  std::int64_t held_out_begin = 0;       ///< place of the id before the first one held out; none is: of the last id
  std::int64_t test_begin = 0;           ///< the same of the test split
  std::string absent_separator = {};     ///< data.separator, where the text has none: it can be scored, not trained on
};

class Corpus {
 public:
  const Vocabulary& vocabulary() const { return vocabulary_; }
  TokenView all() const { return tokens_; }
  /// The first int((1 - val_fraction - test_fraction) * n) tokens; or the documents that are not held out, and the id
  /// after them.
  TokenView train() const { return tokens_.slice(0, train_size_); }
  /// The first holdout().most of the tokens behind those, up to int((1 - test_fraction) * n); or of the documents held
  /// out for validation, and the id before them.
  TokenView val() const { return scored_part(train_size_, test_begin_); }
  /// The first holdout().most of the tokens behind those; or of the documents drawn last, and the id before them. Only
  /// for a score of the test split.
  TokenView test() const { return scored_part(test_begin_, tokens_.size()); }
  /// All but the test split.
  TokenView without_test() const { return tokens_.slice(0, test_begin_); }
  /// Tokens held out for validation and for the test, those beyond holdout().most too.
  std::int64_t val_tokens() const { return test_begin_ - train_size_; }
  std::int64_t test_tokens() const { return tokens_.size() - test_begin_; }
  const DocumentSplit& documents() const { return documents_; }
  const Holdout& holdout() const { return holdout_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  /// Lines for the user, e.g. "data/mine.txt: byte order mark removed".
  const std::vector<std::string>& notices() const { return notices_; }
  /// The files that it was read from (see text_listing.h); empty for a text that came from nowhere.
  const TextListing& listing() const { return listing_; }
  /// How many they are; 0 for a text that came from nowhere.
  std::int64_t files() const { return std::ssize(listing_.files); }

  Corpus(Vocabulary vocabulary, TokenView tokens, std::shared_ptr<const void> owner, const Holdout& holdout,
         std::vector<std::string> notices = {}, TextListing listing = {}, const DocumentSplit& documents = {});

 private:
  TokenView scored_part(std::int64_t begin, std::int64_t end) const;

  Vocabulary vocabulary_;
  TokenView tokens_;
  std::shared_ptr<const void> owner_;  ///< keeps the ids alive
  Holdout holdout_;
  DocumentSplit documents_;
  std::int64_t train_size_ = 0, test_begin_ = 0;  ///< of documents with the id after them
  Fingerprint fingerprint_;
  std::vector<std::string> notices_;
  TextListing listing_;
};

/// Called while a text is read with the bytes done so far; `of` 0: total unknown.
using ReadingProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

/// Reads and joins data.text, whose names are those of list_texts(), each file once and in pieces: the ids (1, 2 or 4
/// bytes a character) are all that is kept, so that no file is needed afterwards. `vocabulary`: encode with this one
/// (resume, eval, fine-tuning) instead of building one; characters it lacks are an Error data. `progress` is told of
/// pipes, and of files of more than 64 MB together. Errors: as list_texts, not UTF-8 with offset and line (65), binary
/// (65), too many symbols (65), empty (65).
Corpus load_corpus(const DataConfig& data, const std::optional<Vocabulary>& vocabulary = std::nullopt,
                   const ReadingProgress& progress = {});

/// The same of files that are listed already; data.text is not looked at.
Corpus load_listed(TextListing listing, const DataConfig& data,
                   const std::optional<Vocabulary>& vocabulary = std::nullopt, const ReadingProgress& progress = {});

/// Tokens of the test split of a text of so many; where it has documents, about as many.
std::int64_t test_size(std::int64_t tokens, const DataConfig& data);

/// Error data for a data.separator that does not occur in the text, and, naming lengths and what to change, unless each
/// split has at least one window of block_size + 1 tokens.
void check_splits(const Corpus& corpus, std::int64_t block_size);

/// A corpus from a string already in memory (tests, `eval --text -`).
Corpus corpus_from_text(std::string_view utf8, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary = std::nullopt);

/// A corpus in another vocabulary of characters. What that lacks is left out or replaced; `notice` becomes the line
/// that says so, empty where it lacks nothing. Error data where `policy` is error and it does.
Corpus in_vocabulary(const Corpus& corpus, const Vocabulary& vocabulary, UnknownPolicy policy, const std::string& what,
                     std::string& notice);

}  // namespace chargpt
