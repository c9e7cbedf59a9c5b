#include "cli/runs/prompt_window.h"

#include <utility>

#include "base/error.h"
#include "report/charts/heat_map.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

void note_long_prompt(std::size_t characters, std::int64_t block_size) {
  if (std::cmp_greater(characters, block_size))
    log_note("the prompt has ", format_count(static_cast<std::int64_t>(characters)), " characters but the context is ",
             format_count(block_size), "; only the last ", format_count(block_size), " are used");
}

PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt) {
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  PromptWindow window{.ids = vocabulary.encode(prompt, "--prompt"), .symbols = {}};
  if (window.ids.empty()) throw Error(ExitCode::usage, "--prompt is empty; give at least one character");
  const std::int64_t block_size = run.model->block_size();
  note_long_prompt(window.ids.size(), block_size);
  if (vocabulary.document() >= 0) window.ids.insert(window.ids.begin(), run.checkpoint.state.start_symbol);
  const std::int64_t more = std::ssize(window.ids) - block_size;
  if (more > 0) window.ids.erase(window.ids.begin(), window.ids.begin() + more);
  for (const std::int64_t id : window.ids) window.symbols.push_back(visible_symbol(vocabulary.symbol(id)));
  return window;
}

}  // namespace chargpt
