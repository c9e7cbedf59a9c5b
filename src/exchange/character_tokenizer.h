// A vocabulary of characters or bytes as tokenizer.json of the `tokenizers` library, and back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace chargpt {

/// Each symbol is a word of its own: nothing is normalised, merged or cleaned up, and a character that is not in the
/// vocabulary is an error ("Missing [UNK] token"). The id between documents, document_token, is put before each text;
/// no text contains it, as texts are cut into single characters.
nlohmann::ordered_json tokenizer_json(const Vocabulary& vocabulary);

/// What other programs call the id between documents, which begins and ends a text.
inline constexpr const char* document_token = "<|endoftext|>";

struct ImportedSymbols {
  Vocabulary vocabulary;
  std::vector<std::int64_t> rows;  ///< by our id: theirs, as ours are in code-point order
  std::vector<std::string> notices{};
};

/// Of untrusted input. `ids`: how many the model has. Error data, naming `source`, where it is not a tokenizer of
/// single characters or bytes, or its ids are not those of the model. Special tokens, and ids without a token, become
/// characters of Unicode's private use: they keep their place in the model.
ImportedSymbols read_tokenizer(const nlohmann::json& json, std::int64_t ids, const std::string& source);

}  // namespace chargpt
