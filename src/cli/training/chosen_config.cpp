#include "cli/training/chosen_config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/line_of.h"
#include "report/format.h"

namespace chargpt {
namespace {

/// The best of the presets from so many minutes on two cores (configs/README.md, "What to expect"), for texts of at
/// least so many tokens to train on; and how often it may read them before it overfits.
struct Row {
  const char* preset;
  double minutes;
  std::int64_t tokens, passes;
};

constexpr std::array table{Row{"half-hour", 4, 600'000, 11}, Row{"five-minutes", 0.75, 300'000, 7},
                           Row{"default", 0.1, 0, 5}, Row{"quick", 0, 0, 5}};

const Row& row_for(double minutes, std::int64_t train_tokens) {
  for (const Row& row : table)
    if (minutes >= row.minutes && train_tokens >= row.tokens) return row;
  return table.back();
}

}  // namespace

Override seconds_of(double minutes) {
  return {"train.max_seconds", nlohmann::json(60 * minutes).dump(), "--minutes"};
}

ChosenConfig chosen_config(double minutes, std::int64_t train_tokens) {
  const Row& row = row_for(minutes, train_tokens);
  const Config shape = load_config(row.preset).config;
  return {row.preset,
          {"train.max_epochs", std::to_string(row.passes), "--minutes"},
          line_of("chose ", row.preset, " (", shape.model.n_layer, " layers of width ", shape.model.n_embd,
                  ", batches of ", shape.train.batch_size, " x ", shape.model.block_size, "): the best preset for ",
                  format_duration(60 * minutes), " on two cores and ", format_count(train_tokens),
                  " training tokens, of which it makes at most ", row.passes, " epochs")};
}

}  // namespace chargpt
