#include "exchange/character_tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

using Json = nlohmann::json;

constexpr std::size_t byte_symbols = 256;
constexpr const char* any_character = "[\\s\\S]";  // Oniguruma has no (?s)

/// How ByteLevel writes a byte: as its own character if printable, else as the next one from U+0100 on (Radford et al.,
/// GPT-2, 2019).
std::vector<char32_t> byte_characters() {
  std::vector<char32_t> characters;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < byte_symbols; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters.push_back(printable ? byte : next++);
  }
  return characters;
}

// ---- reading

[[noreturn]] void refuse(const std::string& source, const std::string& why) {
  throw Error(
      ExitCode::data, source, ": ", why,
      "; chargpt reads text one character at a time, and imports models whose tokens are single characters or bytes");
}

/// "type" of a part of the pipeline; empty if the part is absent.
std::string type_of(const Json& json, const std::string& part) {
  if (!json.is_object() || !json.contains(part) || json[part].is_null()) return "";
  const Json& one = json[part];
  return one.is_object() && one.contains("type") && one["type"].is_string() ? one["type"].get<std::string>() : "?";
}

bool splits_into_characters(const Json& split) {
  static const std::set<std::string> patterns = {any_character, ".", "(?s).", "(?s:.)", "(?m:.)", ""};
  const Json pattern = split.value("pattern", Json::object());
  if (!pattern.is_object() || pattern.size() != 1 || split.value("behavior", Json()) != "Isolated") return false;
  const Json& text = pattern.front();
  return text.is_string() && patterns.contains(text.get<std::string>());
}

/// The units that the pipeline splits a text into.
struct Cuts {
  bool characters = false, bytes = false;
};

void read_cut(const Json& step, const std::string& source, Cuts& cuts) {
  const std::string type = type_of({{"step", step}}, "step");
  if (type == "Sequence" && step.contains("pretokenizers") && step["pretokenizers"].is_array()) {
    for (const Json& inner : step["pretokenizers"]) read_cut(inner, source, cuts);
  } else if (type == "ByteLevel") {
    if (step.value("add_prefix_space", Json(false)) == true) refuse(source, "its pre_tokenizer adds a space");
    cuts.bytes = true;
  } else if (type == "Split" && splits_into_characters(step)) {
    cuts.characters = true;
  } else {
    refuse(source, "its pre_tokenizer " + printable(type, 30) + " does not cut a text into characters");
  }
}

/// Whether the post-processor adds tokens; a template may contain only the text.
bool adds_tokens(const Json& json) {
  const std::string type = type_of(json, "post_processor");
  if (type.empty() || type == "ByteLevel") return false;
  if (type != "TemplateProcessing") return true;
  const Json single = json["post_processor"].value("single", Json());
  return !single.is_array() ||
         !std::ranges::all_of(single, [](const Json& part) { return part.is_object() && part.contains("Sequence"); });
}

Cuts read_pipeline(const Json& json, const std::string& source) {
  if (const std::string type = type_of(json, "normalizer"); !type.empty())
    refuse(source, "its normalizer " + printable(type, 30) + " changes the text");
  if (adds_tokens(json))
    refuse(source, "its post_processor " + printable(type_of(json, "post_processor"), 30) + " adds tokens to the text");
  Cuts cuts;
  if (!type_of(json, "pre_tokenizer").empty()) read_cut(json["pre_tokenizer"], source, cuts);
  const std::string model = type_of(json, "model");
  if (model != "WordLevel" && model != "BPE") refuse(source, "its model is " + printable(model, 30));
  const Json merges = json["model"].value("merges", Json::array());
  if (!merges.is_array() || !merges.empty()) refuse(source, "it merges characters into longer tokens");
  if (model == "WordLevel" && !cuts.characters) refuse(source, "it does not cut a text into characters");
  return cuts;
}

/// Tokens by id, and which of them are special.
struct Tokens {
  std::vector<std::optional<std::string>> by_id;
  std::map<std::string, std::int64_t> ids;
  std::set<std::string> special;
};

void put_token(Tokens& tokens, const std::string& token, const Json& id, const std::string& source) {
  const std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
  if (number < 0 || number >= std::ssize(tokens.by_id))
    throw Error(ExitCode::data, source, ": token '", printable(token, 20), "' has id ", printable(id.dump(), 20),
                ", but the ids of the model range from 0 to ", tokens.by_id.size() - 1);
  auto& place = tokens.by_id[static_cast<std::size_t>(number)];
  if (place.value_or(token) != token || tokens.ids.emplace(token, number).first->second != number)
    throw Error(ExitCode::data, source, ": token '", printable(token, 20), "' has id ", number,
                ", but the token or the id is given twice");
  place = token;
}

Tokens read_tokens(const Json& json, std::int64_t ids, const std::string& source) {
  Tokens tokens;
  tokens.by_id.resize(static_cast<std::size_t>(ids));
  const Json& model = json["model"];
  if (!model.contains("vocab") || !model["vocab"].is_object()) refuse(source, "its model has no vocabulary");
  for (const auto& [token, id] : model["vocab"].items()) put_token(tokens, token, id, source);
  if (model.contains("unk_token") && model["unk_token"].is_string())
    tokens.special.insert(model["unk_token"].get<std::string>());
  const Json added = json.value("added_tokens", Json::array());
  if (!added.is_array()) refuse(source, "added_tokens is not a list");
  for (const Json& one : added) {
    if (!one.is_object() || !one.contains("content") || !one["content"].is_string() || !one.contains("id"))
      refuse(source, "added_tokens contains an entry that is not a token");
    put_token(tokens, one["content"].get<std::string>(), one["id"], source);
    tokens.special.insert(one["content"].get<std::string>());
  }
  return tokens;
}

/// Their id for each byte if the tokens are the 256 bytes, else nullopt.
std::optional<std::vector<std::int64_t>> rows_of_bytes(const Tokens& tokens) {
  const auto characters = byte_characters();
  std::vector<std::int64_t> rows;
  for (const char32_t character : characters)
    if (const auto found = tokens.ids.find(utf8_of(character)); found != tokens.ids.end())
      rows.push_back(found->second);
  if (rows.size() != byte_symbols || tokens.by_id.size() != byte_symbols) return std::nullopt;
  return rows;
}

/// One character for each id: the token itself, or a private-use one for a special or missing token.
ImportedSymbols symbols_of(const Tokens& tokens, const std::string& source) {
  constexpr char32_t private_use = 0xF0000, private_end = 0xFFFFE;
  std::map<char32_t, std::int64_t> rows;  // their ids, in the order of ours
  std::vector<std::int64_t> others;
  for (std::int64_t id = 0; id < std::ssize(tokens.by_id); ++id)
    if (const auto own = single_character(tokens.by_id[static_cast<std::size_t>(id)].value_or("")))
      rows.emplace(*own, id);
    else
      others.push_back(id);
  std::vector<std::string> replaced;
  char32_t next = private_use;
  for (const std::int64_t id : others) {
    const auto& token = tokens.by_id[static_cast<std::size_t>(id)];
    if (token && !tokens.special.contains(*token))
      refuse(source, "token '" + printable(*token, 20) + "' (id " + std::to_string(id) + ") is not a single character");
    while (rows.contains(next)) ++next;
    if (next >= private_end) refuse(source, "too many ids have no character");
    replaced.push_back((token ? "'" + printable(*token, 20) + "'" : "id " + std::to_string(id)) + " is " +
                       code_point_name(next));
    rows.emplace(next, id);
  }
  ImportedSymbols imported;
  std::vector<char32_t> characters;
  for (const auto& [character, id] : rows) {
    characters.push_back(character);
    imported.rows.push_back(id);
  }
  imported.vocabulary = Vocabulary::of_characters(std::move(characters));
  if (!replaced.empty())
    imported.notices.push_back("tokens that are not characters became private-use characters: " + some_of(replaced));
  return imported;
}

}  // namespace

nlohmann::ordered_json tokenizer_json(const Vocabulary& vocabulary) {
  using Ordered = nlohmann::ordered_json;
  const std::int64_t document = vocabulary.document();
  const bool bytes = vocabulary.units() == Units::bytes;
  Ordered vocab = Ordered::object();
  std::int64_t id = 0;
  for (const char32_t character : bytes ? byte_characters() : vocabulary.code_points())
    vocab[utf8_of(character)] = id++;
  Ordered before;
  if (document >= 0) {
    vocab[document_token] = document;  // not an added token: those are matched in texts
    const Ordered begin = {{"SpecialToken", {{"id", document_token}, {"type_id", 0}}}};
    const Ordered text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const Ordered other = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
    const Ordered token = {{"id", document_token}, {"ids", {document}}, {"tokens", {document_token}}};
    before = {{"type", "TemplateProcessing"},
              {"single", {begin, text}},
              {"pair", {begin, text, begin, other}},
              {"special_tokens", {{document_token, token}}}};
  }
  const Ordered split = {
      {"type", "Split"}, {"pattern", {{"Regex", any_character}}}, {"behavior", "Isolated"}, {"invert", false}};
  const Ordered byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  const Ordered both = {{"type", "Sequence"}, {"pretokenizers", {byte_level, split}}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Ordered::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", bytes ? both : split},
          {"post_processor", before},
          {"decoder", bytes ? byte_level : Ordered{{"type", "Fuse"}}},
          {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", ""}}}};
}

ImportedSymbols read_tokenizer(const Json& json, std::int64_t ids, const std::string& source) {
  if (!json.is_object()) throw Error(ExitCode::data, source, " is not a JSON object");
  static const Json::json_pointer last("/model/vocab/<|endoftext|>"), first("/post_processor/single/0/SpecialToken/id");
  if (ids > 1 && json.contains(last) && json[last] == ids - 1 && json.contains(first) &&
      json[first] == document_token && json["post_processor"]["single"].size() == 2) {
    Json characters = json;  // without the id between documents
    characters["model"]["vocab"].erase(document_token);
    characters.erase("post_processor");
    ImportedSymbols imported = read_tokenizer(characters, ids - 1, source);
    imported.rows.push_back(ids - 1);
    return {imported.vocabulary.with_documents(), imported.rows, imported.notices};
  }
  const Cuts cuts = read_pipeline(json, source);
  const Tokens tokens = read_tokens(json, ids, source);
  if (cuts.bytes) {
    if (const auto rows = rows_of_bytes(tokens)) return {Vocabulary::of_bytes(), *rows, {}};
    refuse(source, "it reads bytes, but its tokens are not the 256 bytes");
  }
  return symbols_of(tokens, source);
}

}  // namespace chargpt
