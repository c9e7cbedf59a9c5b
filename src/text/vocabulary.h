// Symbols and their ids, and messages about characters that a vocabulary lacks. Independent of files and models.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/config.h"

namespace chargpt {

CHARGPT_ENUM(UnknownPolicy, error, skip, replace);

/// Units of characters: distinct Unicode code points in ascending order, id = index (nanoGPT's order). Units of bytes:
/// all 256, id = value. If the text has documents, the last id is the boundary between two of them; it is not a
/// character, and its text is empty.
class Vocabulary {
 public:
  static Vocabulary of_bytes() { return {}; }
  /// `code_points` must be sorted, distinct Unicode scalar values.
  static Vocabulary of_characters(std::vector<char32_t> code_points);
  /// A copy with an id for the boundary between documents.
  Vocabulary with_documents() const;
  /// Parses the vocabulary of a checkpoint, which is untrusted input. Error data, naming `source`.
  static Vocabulary from_json(const nlohmann::json& json, const std::string& source);
  /// {"kind":"characters","symbols":[…]} in id order, or {"kind":"bytes"}; with "document" if there is a boundary id.
  nlohmann::ordered_json to_json() const;

  std::int64_t size() const;
  /// The id between documents, always the last; -1: there is none.
  std::int64_t document() const { return documents_ ? size() - 1 : -1; }
  Units units() const { return units_; }
  /// The symbol of an id in UTF-8 (a raw byte in units of bytes). Error data if id >= size().
  std::string symbol(std::int64_t id) const;
  /// All symbols, by id.
  std::vector<std::string> symbols() const;
  std::string decode(const std::vector<std::int64_t>& ids) const;
  /// Encodes a UTF-8 text. `what` names it in messages ("--prompt"). Unknown characters are skipped, replaced (see
  /// replacement()) or, without such a policy, Error data naming up to three of them with code point and position
  /// (0-based, in characters); if the caller passes a policy, the message advises `--unknown skip`. `notice`, if not
  /// null, becomes a line on the characters skipped or replaced, or "".
  std::vector<std::int64_t> encode(std::string_view text, const std::string& what,
                                   std::optional<UnknownPolicy> policy = {}, std::string* notice = nullptr) const;
  /// The id that replaces unknown characters: that of '?', else of ' ', else 0.
  std::int64_t replacement() const;
  /// The id of a character, or of a byte value in units of bytes; -1 if unknown.
  std::int64_t id_of(char32_t code_point) const;
  /// The characters in id order; empty in units of bytes.
  const std::vector<char32_t>& code_points() const { return code_points_; }
  /// The reverse of id_of(), for any id but the boundary between documents.
  char32_t code_point(std::int64_t id) const {
    return units_ == Units::bytes ? static_cast<char32_t>(id) : code_points_[static_cast<std::size_t>(id)];
  }
  bool operator==(const Vocabulary&) const = default;

 private:
  Units units_ = Units::bytes;
  std::vector<char32_t> code_points_;
  bool documents_ = false;
};

/// The common name of an invisible character, such as "no-break space"; "" if it has none or is visible.
std::string_view name_of_invisible(char32_t code_point);
/// A character for messages: 'x' (U+0078) if it is visible, else code point and name, such as U+0009 (tab).
std::string describe_character(char32_t code_point);
/// The characters of `some` that `other` lacks, each in the form of describe_character().
std::vector<std::string> characters_only_in(const Vocabulary& some, const Vocabulary& other);

/// What happened to unknown characters, for messages: "they are left out", "each is read as '?'".
std::string outcome_of(UnknownPolicy policy, const Vocabulary& vocabulary);

/// The characters of a text that a vocabulary lacks, each with its first position (0-based, in characters) or no_place.
using UnknownCharacters = std::map<char32_t, std::int64_t>;
inline constexpr std::int64_t no_place = -1;
/// "WHAT has 2 characters that the model has never seen: '☺' (U+263A) at 6, …; ADVICE". Names the first three. If
/// either side has accents as separate characters, also gives the command that composes them.
std::string message_about(const UnknownCharacters& unknown, const Vocabulary& vocabulary, const std::string& what,
                          const std::string& advice);

/// Calls visit(symbol) for each character or byte of a text, until the end or the first invalid byte; returns the
/// number of bytes visited.
template <class Visit>
std::size_t each_symbol(std::string_view text, Units units, const Visit& visit) {
  if (units == Units::characters) return decode_utf8(text, visit);
  for (const char byte : text) visit(char32_t{static_cast<unsigned char>(byte)});
  return text.size();
}

/// Maps symbols to ids with one array access, for texts of millions of characters.
class SymbolIndex {
 public:
  explicit SymbolIndex(const Vocabulary& vocabulary, std::int32_t unknown = -1) : unknown_(unknown) {
    const std::int64_t symbols = vocabulary.size() - (vocabulary.document() < 0 ? 0 : 1);
    ids_.resize(vocabulary.code_point(symbols - 1) + std::size_t{1}, unknown);
    for (std::int32_t id = 0; id < symbols; ++id) ids_[vocabulary.code_point(id)] = id;
  }
  std::int32_t operator[](char32_t symbol) const { return symbol < ids_.size() ? ids_[symbol] : unknown_; }

 private:
  std::vector<std::int32_t> ids_;  ///< indexed by code point
  std::int32_t unknown_;
};

}  // namespace chargpt
