#include "text/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/characters.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

using nlohmann::json;

constexpr std::int64_t byte_symbols = 256;

/// Whether the character is part of a decomposed one (Unicode NFD) that nearly always has a composed form: the accent
/// of "e" + U+0301, the mark of a kana, the vowel or final consonant of a Hangul syllable.
bool is_decomposed_part(char32_t code_point) {
  return (code_point >= 0x300 && code_point < 0x370) || (code_point >= 0x1161 && code_point <= 0x11C2) ||
         code_point == 0x3099 || code_point == 0x309A;
}

}  // namespace

std::string_view name_of_invisible(char32_t code_point) {
  constexpr std::string_view names =
      "U+0000 NUL;U+0009 tab;U+000A line feed;U+000C form feed;U+000D carriage return;U+0020 space;U+0085 next line;"
      "U+00A0 no-break space;U+00AD soft hyphen;U+2009 thin space;U+200B zero width space;U+200C zero width non-joiner;"
      "U+200D zero width joiner;U+200E left-to-right mark;U+200F right-to-left mark;U+2028 line separator;"
      "U+2029 paragraph separator;U+202F narrow no-break space;U+2060 word joiner;U+3000 ideographic space;"
      "U+FE0F variation selector;U+FEFF byte order mark;";
  const std::string number = code_point_name(code_point) + " ";
  const std::size_t at = names.find(number);
  if (at == names.npos) return is_combining_mark(code_point) ? "combining mark" : "";
  const std::string_view name = names.substr(at + number.size());
  return name.substr(0, name.find(';'));
}

std::string describe_character(char32_t code_point) {
  const std::string number = code_point_name(code_point);
  const std::string_view name = name_of_invisible(code_point);
  if (!name.empty() && name != "space") return line_of(number, " (", name, ")");
  const bool no_character = (code_point >= 0xD800 && code_point < 0xF900) || (code_point & 0xFFFE) == 0xFFFE ||
                            code_point >= 0xE0000;  // surrogates, private use, tags
  if (no_character || is_control(code_point) || columns_of(code_point) == 0) return number;
  return std::string("'").append(utf8_of(code_point)).append("' (").append(number).append(")");
}

std::vector<std::string> characters_only_in(const Vocabulary& some, const Vocabulary& other) {
  std::vector<std::string> characters;
  for (const char32_t code_point : some.code_points())
    if (other.id_of(code_point) < 0) characters.push_back(describe_character(code_point));
  return characters;
}

Vocabulary Vocabulary::of_characters(std::vector<char32_t> code_points) {
  Vocabulary vocabulary;
  vocabulary.units_ = Units::characters;
  vocabulary.code_points_ = std::move(code_points);
  return vocabulary;
}

Vocabulary Vocabulary::with_documents() const {
  Vocabulary vocabulary = *this;
  vocabulary.documents_ = true;
  return vocabulary;
}

// Compares the result with the input: any difference means an unknown kind, field or value.
Vocabulary Vocabulary::from_json(const json& json, const std::string& source) {
  Vocabulary vocabulary;
  std::vector<char32_t>& known = vocabulary.code_points_;
  if (const auto symbols = json.find("symbols"); symbols != json.end()) {
    vocabulary.units_ = Units::characters;
    for (const nlohmann::json& symbol : *symbols) {
      const auto code_point =
          symbol.is_string() ? single_character(symbol.get_ref<const std::string&>()) : std::nullopt;
      if (!code_point || (!known.empty() && *code_point <= known.back()))
        throw Error(ExitCode::data, source, " is not a vocabulary: symbols[", known.size(),
                    "] = ", printable(symbol.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                    " is not a single character above the one before it");
      known.push_back(*code_point);
    }
  }
  vocabulary.documents_ = json.contains("document");
  if (json != nlohmann::json(vocabulary.to_json()) || (known.empty() && vocabulary.units_ == Units::characters))
    throw Error(ExitCode::data, source, " is not a vocabulary of characters or bytes");
  return vocabulary;
}

nlohmann::ordered_json Vocabulary::to_json() const {
  nlohmann::ordered_json json;
  json["kind"] = enum_name(units_);
  if (units_ == Units::characters) {
    auto& symbols = json["symbols"] = nlohmann::ordered_json::array();
    for (const char32_t code_point : code_points_) symbols.push_back(utf8_of(code_point));
  }
  if (documents_) json["document"] = document();
  return json;
}

std::int64_t Vocabulary::size() const {
  return (units_ == Units::bytes ? byte_symbols : static_cast<std::int64_t>(code_points_.size())) +
         (documents_ ? 1 : 0);
}

std::string Vocabulary::symbol(std::int64_t id) const {
  if (id < 0 || id >= size())
    throw Error(ExitCode::data, "id ", id, " is outside the vocabulary of ", size(), " symbols");
  if (id == document()) return {};
  return units_ == Units::bytes ? std::string(1, static_cast<char>(id)) : utf8_of(code_point(id));
}

std::vector<std::string> Vocabulary::symbols() const {
  std::vector<std::string> all;
  for (std::int64_t id = 0; id < size(); ++id) all.push_back(symbol(id));
  return all;
}

std::string Vocabulary::decode(const std::vector<std::int64_t>& ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int64_t id : ids) text += symbol(id);
  return text;
}

std::vector<std::int64_t> Vocabulary::encode(std::string_view text, const std::string& what,
                                             std::optional<UnknownPolicy> policy, std::string* notice) const {
  std::vector<std::int64_t> ids;
  ids.reserve(text.size());
  const SymbolIndex index(*this);
  UnknownCharacters unknown;
  std::int64_t position = 0;
  const std::size_t used = each_symbol(text, units_, [&](char32_t code_point) {
    const std::int32_t id = index[code_point];
    if (id >= 0) ids.push_back(id);
    if (id < 0) unknown.try_emplace(code_point, position);
    if (id < 0 && policy == UnknownPolicy::replace) ids.push_back(replacement());
    ++position;
  });
  if (used < text.size())
    throw Error(ExitCode::data, what, " is not UTF-8: ", describe_byte(text.substr(used)), " at offset ", used,
                "; convert it to UTF-8 (iconv)");
  if (unknown.empty()) return ids;
  if (!policy || policy == UnknownPolicy::error)
    throw Error(ExitCode::data,
                message_about(unknown, *this, what, policy ? "leave them out, or --unknown skip" : "leave them out"));
  if (notice != nullptr) *notice = message_about(unknown, *this, what, outcome_of(*policy, *this));
  return ids;
}

std::int64_t Vocabulary::replacement() const {
  return std::max<std::int64_t>({id_of('?') >= 0 ? id_of('?') : id_of(' '), 0});
}

std::int64_t Vocabulary::id_of(char32_t code_point) const {
  if (units_ == Units::bytes) return code_point < byte_symbols ? static_cast<std::int64_t>(code_point) : -1;
  const auto found = std::lower_bound(code_points_.begin(), code_points_.end(), code_point);
  return found != code_points_.end() && *found == code_point ? found - code_points_.begin() : -1;
}

std::string outcome_of(UnknownPolicy policy, const Vocabulary& vocabulary) {
  if (policy == UnknownPolicy::skip) return "they are left out";
  const std::string symbol = vocabulary.symbol(vocabulary.replacement());
  return "each is read as " + describe_character(decode_character(symbol).code_point);
}

std::string message_about(const UnknownCharacters& unknown, const Vocabulary& vocabulary, const std::string& what,
                          const std::string& advice) {
  std::vector<std::pair<char32_t, std::int64_t>> named(std::min<std::size_t>(unknown.size(), 3));
  std::partial_sort_copy(unknown.begin(), unknown.end(), named.begin(), named.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  });
  std::string line = line_of(what, " has ", unknown.size(), unknown.size() == 1 ? " character" : " characters",
                             " that the model has never seen: ");
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto& [code_point, where] = named[i];
    line += (i > 0 ? ", " : "") + describe_character(code_point);
    if (where != no_place) line += line_of(" at ", where);
  }
  if (unknown.size() > named.size()) line += line_of(" and ", unknown.size() - named.size(), " more");
  const auto has_accents = [](const auto& characters) {
    return std::ranges::any_of(characters, [](char32_t one) { return one >= 0xC0 && !is_decomposed_part(one); });
  };
  const std::vector<char32_t>& known = vocabulary.code_points();
  std::vector<char32_t> lacking;
  for (const auto& [code_point, where] : unknown) lacking.push_back(code_point);
  const bool text_has_parts = has_accents(lacking) && std::ranges::any_of(known, is_decomposed_part);
  if (text_has_parts || (has_accents(known) && std::ranges::any_of(lacking, is_decomposed_part)))
    line += line_of("; ", text_has_parts ? "the training text" : what,
                    " has accents as separate characters, uconv -x nfc composes them");
  return line + "; " + advice;
}

}  // namespace chargpt
