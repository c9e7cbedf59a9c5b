// Symbols and their ids; the characters of a text that a vocabulary lacks. Knows no file and no model.
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

/// Characters: distinct Unicode code points in code-point order, id = index (nanoGPT's order). Bytes: all 256, id =
/// value. After them, where a text has documents, the end of one and beginning of the next: no character, and its text
/// is empty.
class Vocabulary {
 public:
  static Vocabulary of_bytes() { return {}; }
  /// code_points must be sorted and distinct, each a Unicode scalar value.
  static Vocabulary of_characters(std::vector<char32_t> code_points);
  /// The same with an id between documents.
  Vocabulary with_documents() const;
  /// The vocabulary in a checkpoint: untrusted input. Error data, naming `source`.
  static Vocabulary from_json(const nlohmann::json& json, const std::string& source);
  /// {"kind":"characters","symbols":[…]} in id order, or {"kind":"bytes"}; and "document", where there is that id.
  nlohmann::ordered_json to_json() const;

  std::int64_t size() const;
  /// The id between documents, the last one; -1: there is none.
  std::int64_t document() const { return documents_ ? size() - 1 : -1; }
  Units units() const { return units_; }
  /// UTF-8 of one id (one byte for units bytes). Error data when id >= size().
  std::string symbol(std::int64_t id) const;
  std::string decode(const std::vector<std::int64_t>& ids) const;
  /// Ids of a UTF-8 text. Unknown characters: Error data naming up to three of them, with code point and character
  /// position (0-based), or left out, or replaced by '?' (else ' ', else id 0); the message advises `--unknown skip`
  /// where the caller has such an option and so names a policy. `what` names the text ("--prompt"). `notice`, if not
  /// null, becomes the line that says which characters were left out or replaced; empty where none was.
  std::vector<std::int64_t> encode(std::string_view text, const std::string& what,
                                   std::optional<UnknownPolicy> policy = {}, std::string* notice = nullptr) const;
  /// The id that stands for unknown characters: that of '?', else of ' ', else 0.
  std::int64_t replacement() const;
  /// -1 if unknown. For a byte vocabulary the id of that byte value.
  std::int64_t id_of(char32_t code_point) const;
  /// In id order; empty for bytes.
  const std::vector<char32_t>& code_points() const { return code_points_; }
  /// The other way than id_of(): of a symbol, not of the id between documents.
  char32_t code_point(std::int64_t id) const {
    return units_ == Units::bytes ? static_cast<char32_t>(id) : code_points_[static_cast<std::size_t>(id)];
  }
  bool operator==(const Vocabulary&) const = default;

 private:
  Units units_ = Units::bytes;
  std::vector<char32_t> code_points_;
  bool documents_ = false;
};

/// "no-break space": of a character that shows nothing, if it has a common name; else "".
std::string_view name_of_invisible(char32_t code_point);
/// Printable ASCII or UTF-8 as 'x' (U+0078); others by number and name, U+0009 (tab), for messages to a terminal.
std::string describe_character(char32_t code_point);
/// Whether it is a part of a decomposed character (Unicode NFD) that nearly always has a composed form: the accent of
/// "e" + U+0301, the mark of a kana, the vowel or final consonant of a Hangul syllable.
bool is_decomposed_part(char32_t code_point);
/// Those of `some` that `other` lacks, each as describe_character() has it.
std::vector<std::string> characters_only_in(const Vocabulary& some, const Vocabulary& other);

/// What became of unknown characters: "they are left out", "each is read as '?'".
std::string outcome_of(UnknownPolicy policy, const Vocabulary& vocabulary);

/// The characters of a text that a vocabulary lacks, and the line that names them.
class UnknownCharacters {
 public:
  explicit UnknownCharacters(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}
  static constexpr std::int64_t no_place = -1;
  /// One at `position`: 0-based, in characters; no_place: none is told.
  void note(char32_t code_point, std::int64_t position);
  bool empty() const { return seen_.empty(); }
  /// "WHAT has 2 characters that the model has never seen: '☺' (U+263A) at 6, …; ADVICE"; names the first three, and
  /// says how to compose or decompose them where the vocabulary has them in the other form.
  std::string message(const std::string& what, const std::string& advice) const;

 private:
  struct Occurrences {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  const Vocabulary* vocabulary_;
  std::map<char32_t, Occurrences> seen_;
};

/// visit(symbol) for each character or byte of a text until its end or the first fault; returns how many bytes it
/// visited.
template <class Visit>
std::size_t each_symbol(std::string_view text, Units units, const Visit& visit) {
  if (units == Units::characters) return decode_utf8(text, visit);
  for (const char byte : text) visit(char32_t{static_cast<unsigned char>(byte)});
  return text.size();
}

/// From a symbol to its id by one array read, for texts of millions of characters.
class SymbolIndex {
 public:
  explicit SymbolIndex(const Vocabulary& vocabulary, std::int32_t unknown = -1) : unknown_(unknown) {
    const std::int64_t symbols = vocabulary.size() - (vocabulary.document() < 0 ? 0 : 1);
    ids_.resize(vocabulary.code_point(symbols - 1) + std::size_t{1}, unknown);
    for (std::int32_t id = 0; id < symbols; ++id) ids_[vocabulary.code_point(id)] = id;
  }
  std::int32_t operator[](char32_t symbol) const { return symbol < ids_.size() ? ids_[symbol] : unknown_; }

 private:
  std::vector<std::int32_t> ids_;  ///< by code point
  std::int32_t unknown_;
};

}  // namespace chargpt
