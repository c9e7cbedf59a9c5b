// Converts a vocabulary of characters or bytes to tokenizer.json of the `tokenizers` library, and back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace chargpt {

/// Each symbol is one token, without normalising or merging. A character outside the vocabulary is an error ("Missing
/// [UNK] token"). The id between documents, document_token, is added before each text. A text cannot contain it, as
/// texts are split into single characters.
nlohmann::ordered_json tokenizer_json(const Vocabulary& vocabulary);

/// Name of the id between documents in other programs; it begins and ends a text.
inline constexpr const char* document_token = "<|endoftext|>";

struct ImportedSymbols {
  Vocabulary vocabulary;
  std::vector<std::int64_t> rows;  ///< their id for each of our ids, which are in code-point order
  std::vector<std::string> notices{};
};

/// Reads untrusted input. `ids`: number of ids of the model. Throws Error data, naming `source`, if it is not a
/// tokenizer of single characters or bytes, or its ids do not match the model. Special tokens (except document_token,
/// as tokenizer_json() writes it) and ids without a token become Unicode private-use characters and keep their rows in
/// the model.
ImportedSymbols read_tokenizer(const nlohmann::json& json, std::int64_t ids, const std::string& source);

}  // namespace chargpt
