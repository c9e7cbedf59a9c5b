#include "text/documents.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/random.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

/// From `begin` to before `end`.
struct Piece {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// FNV-1a, of characters or ids.
struct Hash {
  std::uint64_t value = 0xcbf29ce484222325;
  void add(std::uint64_t one) { value = (value ^ one) * 0x100000001b3; }
};

std::u32string symbols_of(std::string_view text, Units units) {
  std::u32string symbols;
  if (units == Units::characters)
    decode_utf8(text, [&symbols](char32_t symbol) { symbols.push_back(symbol); });
  else
    for (const char byte : text) symbols.push_back(static_cast<unsigned char>(byte));
  return symbols;
}

/// Cuts what at(i) gives: characters of a text, or bytes of one.
template <class At>
class Cutter {
 public:
  Cutter(const At& at, const DataConfig& data, Units units) : at_(at), documents_(data.documents) {
    if (!data.separator.empty()) separator_ = symbols_of(between_documents(data), units);
  }

  /// Of [begin, end): what lies between two files.
  void cut(std::int64_t begin, std::int64_t end) {
    if (!separator_.empty())
      cut_at_separator(begin, end);
    else if (documents_ == Documents::files)
      add(begin, end);
    else
      cut_lines(begin, end);
  }
  const std::vector<Piece>& pieces() const { return pieces_; }
  bool met_separator() const { return met_separator_; }

 private:
  void add(std::int64_t begin, std::int64_t end) {
    if (begin < end) pieces_.push_back({begin, end});
  }

  void cut_at_separator(std::int64_t begin, std::int64_t end) {
    const auto length = static_cast<std::int64_t>(separator_.size());
    for (std::int64_t i = begin; i + length <= end; ++i) {
      bool met = true;
      for (std::int64_t j = 0; met && j < length; ++j) met = at_(i + j) == separator_[static_cast<std::size_t>(j)];
      if (!met) continue;
      met_separator_ = true;
      add(begin, i);
      begin = i + length;
      i = begin - 1;
    }
    add(begin, end);
  }

  /// Lines, or runs of them between blank ones.
  void cut_lines(std::int64_t begin, std::int64_t end) {
    Piece paragraph{begin, begin};
    for (std::int64_t i = begin; i < end;) {
      std::int64_t stop = i;
      while (stop < end && at_(stop) != U'\n') ++stop;
      const Piece line{i, stop > i && at_(stop - 1) == U'\r' ? stop - 1 : stop};  // without \n or \r\n
      i = std::min(end, stop + 1);
      const bool blank = is_blank(line);
      if (documents_ == Documents::lines) {
        if (!blank) add(line.begin, line.end);
      } else if (blank) {
        add(paragraph.begin, paragraph.end);
        paragraph = {i, i};
      } else {
        paragraph.end = line.end;
      }
    }
    if (documents_ == Documents::paragraphs) add(paragraph.begin, paragraph.end);
  }

  bool is_blank(const Piece& line) const {
    for (std::int64_t i = line.begin; i < line.end; ++i)
      if (at_(i) != U' ' && at_(i) != U'\t') return false;
    return true;
  }

  const At& at_;
  Documents documents_;
  std::u32string separator_;
  std::vector<Piece> pieces_;
  bool met_separator_ = false;
};

/// Into an order drawn by `seed` and what they hold.
template <class At>
void sort_by_content(std::vector<Piece>& pieces, const At& at, std::uint64_t seed) {
  struct Keyed {
    std::uint64_t key;
    Piece piece;
  };
  std::vector<Keyed> keyed;
  for (const Piece& piece : pieces) {
    Hash hash;
    for (std::int64_t i = piece.begin; i < piece.end; ++i) hash.add(at(i));
    keyed.push_back({derive_seed(seed, Purpose::documents, hash.value), piece});
  }
  std::ranges::sort(keyed, {}, [](const Keyed& one) { return std::pair(one.key, one.piece.begin); });
  std::ranges::transform(keyed, pieces.begin(), &Keyed::piece);
}

/// From the ids of a text to those of a vocabulary with the id between documents.
struct Renumbering {
  Renumbering(const EncodedText& text, std::span<const Piece> pieces, const std::optional<Vocabulary>& given,
              const std::string& source) {
    if (text.vocabulary.units() == Units::bytes) {
      vocabulary = Vocabulary::of_bytes().with_documents();
      return;
    }
    const std::vector<char32_t>& characters = text.vocabulary.code_points();
    std::vector<bool> used(characters.size());
    for (const Piece& piece : pieces)
      for (std::int64_t i = piece.begin; i < piece.end; ++i) used[static_cast<std::size_t>(text.tokens[i])] = true;
    std::vector<char32_t> kept;
    for (std::size_t id = 0; id < used.size(); ++id)
      if (used[id]) kept.push_back(characters[id]);
    vocabulary = given ? *given : Vocabulary::of_characters(std::move(kept)).with_documents();
    for (const char32_t character : characters) ids.push_back(vocabulary.id_of(character));
    UnknownCharacters unknown;
    for (const Piece& piece : pieces)
      for (std::int64_t i = piece.begin; i < piece.end; ++i)
        if (const auto id = static_cast<std::size_t>(text.tokens[i]); ids[id] < 0) unknown.note(characters[id], i);
    if (!unknown.empty())
      throw Error(ExitCode::data, unknown.message(source, "leave them out, or train a model on a text that has them"));
  }
  std::int64_t operator[](std::int64_t id) const { return ids.empty() ? id : ids[static_cast<std::size_t>(id)]; }

  Vocabulary vocabulary;
  std::vector<std::int64_t> ids;  ///< by those of the text; empty: they are the same
};

struct EqualPieces {
  const TokenView& tokens;
  bool operator()(const Piece& a, const Piece& b) const {
    bool same = a.size() == b.size();
    for (std::int64_t i = 0; same && i < a.size(); ++i) same = tokens[a.begin + i] == tokens[b.begin + i];
    return same;
  }
};

/// int((1 - fraction) * n), to the nearest document of which the ones before have no copy: how many come before.
std::size_t held_out_from(std::span<const Piece> pieces, double fraction, const EqualPieces& equal) {
  std::int64_t all = 0, before = 0;
  for (const Piece& piece : pieces) all += piece.size() + 1;
  const auto wanted = static_cast<std::int64_t>(std::llround((1 - fraction) * static_cast<double>(all)));
  std::size_t best = pieces.size();
  std::int64_t nearest = all;
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    before += pieces[i].size() + 1;
    if (std::abs(before - wanted) >= nearest || equal(pieces[i], pieces[i + 1])) continue;
    nearest = std::abs(before - wanted);
    best = i + 1;
  }
  return fraction > 0 ? best : pieces.size();
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

std::vector<std::string_view> documents_of(std::string_view text, const DataConfig& data) {
  const auto at = [text](std::int64_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[static_cast<std::size_t>(i)]));
  };
  Cutter cutter(at, data, Units::bytes);
  cutter.cut(0, std::ssize(text));
  std::vector<std::string_view> documents;
  for (const Piece& piece : cutter.pieces())
    documents.push_back(text.substr(static_cast<std::size_t>(piece.begin), static_cast<std::size_t>(piece.size())));
  return documents;
}

ArrangedDocuments arrange_documents(const EncodedText& text, std::span<const std::int64_t> file_ends,
                                    const DataConfig& data, const std::optional<Vocabulary>& vocabulary,
                                    const std::string& source) {
  const TokenView& tokens = text.tokens;
  const auto at = [&](std::int64_t i) { return text.vocabulary.code_point(tokens[i]); };
  Cutter cutter(at, data, text.vocabulary.units());
  std::int64_t begin = 0;
  for (const std::int64_t end : file_ends) {
    cutter.cut(begin, end);
    begin = end;
  }
  std::vector<Piece> pieces = cutter.pieces();
  if (pieces.empty())
    throw Error(ExitCode::data, source, data.separator.empty() ? " holds blank lines" : " holds separators",
                " only; a text needs documents to learn from");
  sort_by_content(pieces, at, static_cast<std::uint64_t>(data.split_seed));
  const EqualPieces equal{tokens};
  ArrangedDocuments arranged;
  DocumentSplit& split = arranged.split;
  split.count = std::ssize(pieces);
  if (!cutter.met_separator()) split.absent_separator = data.separator;
  for (std::size_t i = 1; i < pieces.size(); ++i) arranged.repeats += equal(pieces[i - 1], pieces[i]) ? 1 : 0;
  const std::size_t first_held_out = held_out_from(pieces, data.val_fraction + data.test_fraction, equal),
                    first_of_test = held_out_from(pieces, data.test_fraction, equal);
  split.held_out = static_cast<std::int64_t>(first_of_test - first_held_out);
  arranged.test = std::ssize(pieces) - static_cast<std::int64_t>(first_of_test);

  const Renumbering symbols(text, pieces, vocabulary, source);
  const std::int64_t document = symbols.vocabulary.document();
  const int width = narrowest_width(symbols.vocabulary.size());
  const auto ids = std::make_shared<std::vector<std::byte>>();
  append_id(*ids, document, width);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == first_held_out) split.held_out_begin = std::ssize(*ids) / width - 1;
    if (i == first_of_test) split.test_begin = std::ssize(*ids) / width - 1;
    for (std::int64_t j = pieces[i].begin; j < pieces[i].end; ++j) append_id(*ids, symbols[tokens[j]], width);
    append_id(*ids, document, width);
  }
  const std::int64_t size = std::ssize(*ids) / width;
  if (first_held_out == pieces.size()) split.held_out_begin = size - 1;
  if (arranged.test == 0) split.test_begin = size - 1;
  arranged.text = {symbols.vocabulary, ids, TokenView(ids->data(), width, size, document)};
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
