// The first pass over a text: which symbols it has and how many, before anything is allocated for them. Knows no id.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/text_source.h"
#include "text/vocabulary.h"

namespace chargpt {

struct Survey {
  Vocabulary vocabulary;
  std::int64_t tokens = 0;
};

/// Reads all sources once. Without `vocabulary`, makes one of data.units from what they hold; Error data as
/// soon as there are more than data.max_symbols characters. With it: Error data naming the characters that it lacks.
Survey survey_texts(const std::vector<TextSource>& sources, const DataConfig& data,
                    const std::optional<Vocabulary>& vocabulary);

}  // namespace chargpt
