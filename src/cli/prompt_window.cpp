#include "cli/prompt_window.h"

#include "base/error.h"
#include "report/heat_map.h"
#include "report/log.h"

namespace chargpt {

PromptWindow prompt_window(const LoadedRun& run, const std::string& prompt) {
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  PromptWindow window{.ids = vocabulary.encode(prompt, "--prompt"), .symbols = {}};
  if (window.ids.empty()) throw Error(ExitCode::usage, "--prompt is empty; give at least one character");
  const std::int64_t block_size = run.model->block_size(), more = std::ssize(window.ids) - block_size;
  if (more > 0) {
    log_note("the prompt has " + std::to_string(window.ids.size()) + " characters and the model sees " +
             std::to_string(block_size) + ": only its last " + std::to_string(block_size) + " count");
    window.ids.erase(window.ids.begin(), window.ids.begin() + more);
  }
  for (const std::int64_t id : window.ids) window.symbols.push_back(visible_symbol(vocabulary.symbol(id)));
  return window;
}

}  // namespace chargpt
