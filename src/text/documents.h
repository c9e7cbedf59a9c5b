// Texts of many documents: where a text is cut, the order of the documents' ids, and which ones are held out.
// Independent of files and models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"

namespace chargpt {

/// Whether a part of the text is held out for validation or the test.
inline bool holds_out(const DataConfig& data) {
  return data.val_fraction + data.test_fraction > 0;
}
/// Whether data.documents or data.separator divides the text.
bool has_documents(const DataConfig& data);
/// What separates two documents in a text: "\n", "\n\n", data.separator, or "" between files.
std::string between_documents(const DataConfig& data);
/// The non-empty documents of one file, in order; the whole file if nothing divides it. A line excludes its line end, a
/// paragraph the blank lines around it.
std::vector<std::string_view> documents_of(std::string_view file, const DataConfig& data);

struct Document {
  std::string_view text;
  std::uint64_t key;  ///< a random number from data.split_seed and the text
};

/// The documents of a text in the order of their ids. Those from `first_val` on are held out for validation, those from
/// `first_test` on for the test.
struct ArrangedDocuments {
  std::vector<Document> documents;
  std::int64_t symbols = 0;  ///< total of characters or bytes
  std::size_t first_val = 0, first_test = 0;
  bool separator_missing = false;  ///< data.separator does not occur in the text
};

/// Sorts the documents of all files by key, unless none is held out: the order depends on the seed and the documents,
/// not on their order in the text, and equal documents become neighbours. The last data.test_fraction of the ids are
/// for the test, the data.val_fraction before them for validation. Each split is rounded to whole documents and never
/// separates equal ones. Sets `code_points[c]` to 1 for each character c.
ArrangedDocuments arrange_documents(std::span<const std::string_view> files, const DataConfig& data, Units units,
                                    std::vector<char>& code_points);

/// Calls visit(begin, end) for each document, without the ids around it. `text` must begin with the id between
/// documents, or have none.
template <class Visit>
void each_document(const TokenView& text, const Visit& visit) {
  for (std::int64_t begin = 1, i = 1; i < text.size(); ++i) {
    if (text[i] != text.document()) continue;
    visit(begin, i);
    begin = i + 1;
  }
}

/// The set of documents of `text`, which must begin and end with the id between documents. It stores 64-bit hashes: for
/// a million documents, one unknown document in 10^13 is taken for a known one.
class KnownDocuments {
 public:
  explicit KnownDocuments(const TokenView& text);
  bool contain(std::span<const std::int64_t> ids) const;
  /// The number of different documents.
  std::int64_t count() const { return std::ssize(hashes_); }

 private:
  std::vector<std::uint64_t> hashes_;  ///< sorted
};

}  // namespace chargpt
