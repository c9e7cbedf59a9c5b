// A prompt as the window that a model sees of it: for commands that look inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/runs/loaded_run.h"

namespace chargpt {

struct PromptWindow {
  std::vector<std::int64_t> ids;     ///< 1 to block_size
  std::vector<std::string> symbols;  ///< of each id, one or two columns wide
};

/// --prompt, with what begins a document before it: the last block_size of that; a notice says where there were more
/// characters. Errors: usage where it is empty, data for a character that the model does not know.
PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt);

/// A line on stderr where the prompt is longer than the context.
void note_long_prompt(std::size_t characters, std::int64_t block_size);

}  // namespace chargpt
