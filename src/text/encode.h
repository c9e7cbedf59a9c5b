// From texts in memory to ids: checks that they are UTF-8, finds their characters, encodes them. Independent of splits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"
#include "text/documents.h"
#include "text/text_bytes.h"
#include "text/vocabulary.h"

namespace chargpt {

/// One entry for each code point: 1 if a text has that character.
using CharacterMarks = std::vector<char>;

/// Marks the characters of a text and returns how many it has. Error data: not UTF-8, with offset and line; binary;
/// another kind of file.
std::int64_t mark_characters(const TextBytes& text, CharacterMarks& marks);

/// The characters that are marked, in order. Error data for more than `most`, naming text and position.
std::vector<char32_t> marked_characters(std::span<const TextBytes> texts, const CharacterMarks& marks,
                                        std::int64_t most);

/// Error data for characters that the vocabulary lacks, naming the first text that has any. With the policy skip or
/// replace, a notice about them is returned instead; "" if there are none.
std::string unknown_characters(std::span<const TextBytes> texts, const CharacterMarks& marks, const DataConfig& data,
                               const Vocabulary& vocabulary, std::optional<UnknownPolicy> policy);

struct EncodedText {
  std::shared_ptr<const std::byte[]> owner;  ///< of the ids
  TokenView tokens;
  std::int64_t val_begin = 0, test_begin = 0;  ///< position of the id before the first document of either split
};

/// The ids of all documents, of the narrowest width (1, 2 or 4 bytes). `boundary`: the id before the first document and
/// after each; -1: none. `unknown`: the id of characters that the vocabulary lacks; -1: they are skipped.
EncodedText encode(const ArrangedDocuments& arranged, const Vocabulary& vocabulary, std::int64_t boundary,
                   std::int64_t unknown, const ByteNote& note);

}  // namespace chargpt
