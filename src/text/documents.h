// A text of many documents: where it is cut, in which order the documents become ids, and which are held out.
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

/// Whether a part of the text is for validation or the test.
inline bool holds_out(const DataConfig& data) {
  return data.val_fraction + data.test_fraction > 0;
}
/// Whether data.documents or data.separator cuts the text.
bool has_documents(const DataConfig& data);
/// The separator of two documents in a text: "\n", "\n\n", data.separator; nothing between files.
std::string between_documents(const DataConfig& data);
/// The documents of one file, in its order, without empty ones; the whole file where nothing cuts it. A line is without
/// its end, a paragraph without blank lines.
std::vector<std::string_view> documents_of(std::string_view file, const DataConfig& data);

struct Document {
  std::string_view text;
  std::uint64_t key;  ///< drawn by data.split_seed and the text
};

/// The documents of a text in the order of their ids. From `first_val` on they are held out for validation, from
/// `first_test` on for the test.
struct ArrangedDocuments {
  std::vector<Document> documents;
  std::int64_t symbols = 0;  ///< characters or bytes of all documents
  std::size_t first_val = 0, first_test = 0;
  std::int64_t duplicates = 0;     ///< documents that equal the one before them
  bool separator_missing = false;  ///< data.separator does not occur in the text
};

/// Sorts the documents of all files by key, unless none are held out: the order depends on the seed and on the
/// documents, not on their order in the text, and equal ones are neighbours. The last data.test_fraction of the ids are
/// for the test, before them data.val_fraction for validation, each rounded to a whole document and never between equal
/// ones. `code_points[c]` becomes 1 for each character c of a document.
ArrangedDocuments arrange_documents(std::span<const std::string_view> files, const DataConfig& data, Units units,
                                    std::vector<char>& code_points);

/// visit(begin, end) for each document of a text that begins with the id between them, without the ids around it.
template <class Visit>
void each_document(const TokenView& text, const Visit& visit) {
  for (std::int64_t begin = 1, i = 1; i < text.size(); ++i) {
    if (text[i] != text.document()) continue;
    visit(begin, i);
    begin = i + 1;
  }
}

/// The documents of `text`, whose first and last id is the one between them. Each is represented by a 64-bit hash:
/// among a million documents, one in 10^13 others is mistaken for one of them.
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
