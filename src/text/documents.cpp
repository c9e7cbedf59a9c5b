#include "text/documents.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/quote.h"
#include "base/random.h"
#include "base/utf8.h"
#include "text/vocabulary.h"

namespace chargpt {
namespace {

/// FNV-1a hash of symbols or ids.
struct Hash {
  std::uint64_t value = 0xcbf29ce484222325;
  void add(std::uint64_t one) { value = (value ^ one) * 0x100000001b3; }
};

/// Divides files into documents.
class Cutter {
 public:
  explicit Cutter(const DataConfig& data)
      : documents_(data.documents), separator_(data.separator.empty() ? "" : between_documents(data)) {}
  bool met_separator() const { return met_separator_; }

  /// Calls visit(document) for each non-empty document.
  template <class Visit>
  void cut(std::string_view file, const Visit& visit) {
    const auto add = [&](std::string_view document) {
      if (!document.empty()) visit(document);
    };
    if (!separator_.empty())
      cut_at_separator(file, add);
    else if (documents_ == Documents::lines || documents_ == Documents::paragraphs)
      cut_lines(file, add);
    else
      add(file);
  }

 private:
  template <class Add>
  void cut_at_separator(std::string_view file, const Add& add) {
    for (std::size_t end = 0; (end = file.find(separator_)) != file.npos; met_separator_ = true) {
      add(file.substr(0, end));
      file.remove_prefix(end + separator_.size());
    }
    add(file);
  }

  /// Yields lines without their ends, or the paragraphs between blank lines.
  template <class Add>
  void cut_lines(std::string_view file, const Add& add) const {
    std::string_view paragraph;
    while (!file.empty()) {
      const std::size_t stop = std::min(file.find('\n'), file.size());
      const std::string_view line = file.substr(0, stop - (stop > 0 && file[stop - 1] == '\r' ? 1 : 0));
      file.remove_prefix(std::min(stop + 1, file.size()));
      const bool blank = line.find_first_not_of(" \t") == line.npos;
      if (documents_ == Documents::lines) {
        if (!blank) add(line);
      } else if (blank) {
        add(std::exchange(paragraph, {}));
      } else {
        const char* const begin = paragraph.empty() ? line.data() : paragraph.data();
        paragraph = {begin, line.data() + line.size()};
      }
    }
    add(paragraph);
  }

  Documents documents_;
  std::string separator_;
  bool met_separator_ = false;
};

/// How many documents come before the held-out part: (1 - fraction) * n ids, rounded to the nearest boundary between
/// different documents.
std::size_t held_out_from(const std::vector<Document>& documents, std::int64_t ids, double fraction, Units units) {
  const auto wanted = static_cast<std::int64_t>(std::llround((1 - fraction) * static_cast<double>(ids)));
  std::int64_t before = 0, nearest = fraction > 0 ? ids : 0;
  std::size_t best = documents.size();
  for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
    const std::string_view text = documents[i].text;
    before += 1 + static_cast<std::int64_t>(units == Units::bytes ? text.size() : count_characters(text));
    if (std::abs(before - wanted) >= nearest || text == documents[i + 1].text) continue;
    nearest = std::abs(before - wanted);
    best = i + 1;
  }
  return best;
}

}  // namespace

bool has_documents(const DataConfig& data) {
  return data.documents != Documents::none || !data.separator.empty();
}

std::string between_documents(const DataConfig& data) {
  if (!data.separator.empty()) return unescaped(data.separator, "data.separator ");
  if (data.documents == Documents::lines) return "\n";
  return data.documents == Documents::paragraphs ? "\n\n" : "";
}

std::vector<std::string_view> documents_of(std::string_view file, const DataConfig& data) {
  std::vector<std::string_view> documents;
  Cutter(data).cut(file, [&](std::string_view document) { documents.push_back(document); });
  return documents;
}

ArrangedDocuments arrange_documents(std::span<const std::string_view> files, const DataConfig& data, Units units,
                                    std::vector<char>& code_points) {
  Cutter cutter(data);
  std::size_t count = 0;
  for (const std::string_view file : files) cutter.cut(file, [&](std::string_view) { ++count; });
  ArrangedDocuments arranged;
  std::vector<Document>& documents = arranged.documents;
  documents.reserve(count);
  const auto seed = static_cast<std::uint64_t>(data.split_seed);
  const auto add = [&](std::string_view text) {
    Hash hash;
    each_symbol(text, units, [&, seen = code_points.data()](char32_t symbol) {
      hash.add(symbol);
      seen[symbol] = 1;
      ++arranged.symbols;
    });
    documents.push_back({text, derive_seed(seed, Purpose::documents, hash.value)});
  };
  for (const std::string_view file : files) cutter.cut(file, add);
  if (holds_out(data))
    std::ranges::sort(documents, {}, [](const Document& document) { return std::tie(document.key, document.text); });
  for (std::size_t i = 1; i < count; ++i) arranged.duplicates += documents[i - 1].text == documents[i].text ? 1 : 0;
  const std::int64_t ids = arranged.symbols + std::ssize(documents);
  arranged.first_val = held_out_from(documents, ids, data.val_fraction + data.test_fraction, units);
  arranged.first_test = held_out_from(documents, ids, data.test_fraction, units);
  arranged.separator_missing = !data.separator.empty() && !cutter.met_separator();
  return arranged;
}

KnownDocuments::KnownDocuments(const TokenView& text) {
  each_document(text, [&](std::int64_t begin, std::int64_t end) {
    Hash hash;
    for (std::int64_t i = begin; i < end; ++i) hash.add(static_cast<std::uint64_t>(text[i]));
    hashes_.push_back(hash.value);
  });
  std::ranges::sort(hashes_);
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
}

bool KnownDocuments::contain(std::span<const std::int64_t> ids) const {
  Hash hash;
  for (const std::int64_t id : ids) hash.add(static_cast<std::uint64_t>(id));
  return std::ranges::binary_search(hashes_, hash.value);
}

}  // namespace chargpt
