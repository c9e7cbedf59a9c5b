// Encodes texts in memory to ids: checks that they are UTF-8 and finds their characters. Independent of splits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "config/config.h"
#include "text/documents.h"
#include "text/text_bytes.h"
#include "text/vocabulary.h"

namespace chargpt {

/// By code point: 1 if the text has that character.
using CharacterMarks = std::vector<char>;

/// Marks the characters of a text and returns how many characters it has. Error data if it is not UTF-8 (with offset
/// and line), is binary, or is another kind of file.
std::int64_t mark_characters(const TextBytes& text, CharacterMarks& marks);

/// The marked characters, in ascending order. Error data, naming the texts, if there are more than `most`.
std::vector<char32_t> marked_characters(std::span<const TextBytes> texts, const CharacterMarks& marks,
                                        std::int64_t most);

/// Error data if a text has characters that the vocabulary lacks, naming the first such text. With the policy skip or
/// replace, returns a notice about them instead; "" if there are none.
std::string unknown_characters(std::span<const TextBytes> texts, const CharacterMarks& marks, const DataConfig& data,
                               const Vocabulary& vocabulary, std::optional<UnknownPolicy> policy);

struct EncodedText {
  std::shared_ptr<const std::byte[]> owner;  ///< of the ids
  TokenView tokens;
  std::int64_t val_begin = 0, test_begin = 0;  ///< position of the id before the split's first document
};

/// Encodes all documents with the narrowest ids (1, 2 or 4 bytes). `boundary`: the id before the first document and
/// after each one; -1: none. `unknown`: the id for characters that the vocabulary lacks; -1: skip them.
EncodedText encode(const ArrangedDocuments& arranged, const Vocabulary& vocabulary, std::int64_t boundary,
                   std::int64_t unknown, const Heartbeat& heartbeat);

}  // namespace chargpt
