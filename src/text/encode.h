// Encodes texts in memory to ids: checks that they are UTF-8 and finds their characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "config/config.h"
#include "text/corpus.h"
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

/// Encodes all documents with the narrowest ids (1, 2 or 4 bytes) of parts.vocabulary, and sets parts.tokens, its owner
/// and parts.splits. `boundary`: the id before the first document and after each one; -1: none, which leaves the splits
/// as they are. `unknown`: the id for characters that the vocabulary lacks; -1: skip them.
void encode(const ArrangedDocuments& arranged, std::int64_t boundary, std::int64_t unknown, const Heartbeat& heartbeat,
            CorpusParts& parts);

}  // namespace chargpt
