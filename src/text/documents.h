// A text of many documents: where they are cut, which are held out, and in which order they become ids. Knows no file
// and no model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"
#include "text/corpus.h"
#include "text/encoder.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Whether data.documents or data.separator cuts the text.
bool has_documents(const DataConfig& data);
/// What stands between two documents in a text: "\n", "\n\n", the separator; nothing between files.
std::string between_documents(const DataConfig& data);
/// The documents of a text, in its order. Empty ones are left out; a line is without its end, a paragraph without blank
/// lines.
std::vector<std::string_view> documents_of(std::string_view text, const DataConfig& data);

/// A text in ids: the one between documents, a document, the one between documents, ...
struct ArrangedDocuments {
  EncodedText text;
  DocumentSplit split;
  std::int64_t test = 0;     ///< documents held out for the test
  std::int64_t repeats = 0;  ///< documents that another one is equal to
};

/// Puts the documents into an order drawn by data.split_seed and what they hold: it is the same however the text is
/// sorted, equal ones follow one another, and the last data.test_fraction of the tokens are held out, before them
/// data.val_fraction, each to the nearest document of which the rest has no copy. `file_ends`: how many ids come before
/// the end of each file, which ends a document too. `vocabulary`: theirs instead of one made of what the documents
/// hold; what it lacks is an Error data that names `source`.
ArrangedDocuments arrange_documents(const EncodedText& text, std::span<const std::int64_t> file_ends,
                                    const DataConfig& data, const std::optional<Vocabulary>& vocabulary,
                                    const std::string& source);

/// visit(begin, end) for each document of a text that begins with the id between them, without the ids around it.
template <class Visit>
void each_document(const TokenView& text, const Visit& visit) {
  for (std::int64_t begin = 1, i = 1; i < text.size(); ++i) {
    if (text[i] != text.document()) continue;
    visit(begin, i);
    begin = i + 1;
  }
}

/// The documents that `text` holds, whose first and last id is the one between them. Each is known by 64 bits of what
/// it holds: of a million documents, one in 10^13 others passes for one of them.
class KnownDocuments {
 public:
  explicit KnownDocuments(const TokenView& text);
  bool contain(std::span<const std::int64_t> ids) const;
  /// Equal ones once.
  std::int64_t count() const { return std::ssize(hashes_); }

 private:
  std::vector<std::uint64_t> hashes_;  ///< sorted
};

}  // namespace chargpt
