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

/// Calls visit(document) for each non-empty document of a file.
template <class Visit>
void cut(std::string_view file, const DataConfig& data, const Visit& visit) {
  const auto add = [&](std::string_view document) {
    if (!document.empty()) visit(document);
  };
  const bool at_separator = !data.separator.empty(), at_lines = data.documents == Documents::lines;
  if (!at_separator && !at_lines && data.documents != Documents::paragraphs) return add(file);
  const std::string separator = at_separator ? between_documents(data) : "\n";
  std::string_view paragraph;
  for (bool more = true; more;) {
    const std::size_t stop = file.find(separator);
    std::string_view part = file.substr(0, stop);
    more = stop != file.npos;
    if (more) file.remove_prefix(stop + separator.size());
    if (!at_separator && part.ends_with('\r')) part.remove_suffix(1);
    const bool blank = part.find_first_not_of(" \t") == part.npos;
    if (at_separator || (at_lines && !blank))
      add(part);
    else if (blank)
      add(std::exchange(paragraph, {}));
    else
      paragraph = {paragraph.empty() ? part.data() : paragraph.data(), part.data() + part.size()};
  }
  add(paragraph);
}

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
  cut(file, data, [&](std::string_view document) { documents.push_back(document); });
  return documents;
}

ArrangedDocuments arrange_documents(std::span<const std::string_view> files, const DataConfig& data, Units units,
                                    std::vector<char>& code_points) {
  ArrangedDocuments arranged;
  std::vector<Document>& documents = arranged.documents;
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
  for (const std::string_view file : files) cut(file, data, add);
  if (holds_out(data))
    std::ranges::sort(documents, {}, [](const Document& document) { return std::tie(document.key, document.text); });
  const std::int64_t ids = arranged.symbols + std::ssize(documents);
  arranged.first_val = held_out_from(documents, ids, data.val_fraction + data.test_fraction, units);
  arranged.first_test = held_out_from(documents, ids, data.test_fraction, units);
  const auto lacks_separator = [between = between_documents(data)](std::string_view file) {
    return file.find(between) == file.npos;
  };
  arranged.separator_missing = !data.separator.empty() && std::ranges::all_of(files, lacks_separator);
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
