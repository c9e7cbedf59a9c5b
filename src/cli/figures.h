// The figures of one model on one split, as `eval` and the end of `train` show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "baseline/baseline.h"
#include "compute/engine.h"
#include "evaluate/interval.h"
#include "evaluate/split_loss.h"

namespace chargpt {

struct Figures {
  double loss = 0;  ///< nats per token
  Interval ci95;
  std::int64_t tokens = 0, block_size = 0;
  std::string split;
  std::optional<double> loss_windows_64;  ///< where block_size > 64: the same split in windows of 64
  bool leaks = false;
  std::optional<Baselines> baselines;  ///< absent where the training text is not at hand
};

/// `trained_on`: the corpus whose train split the baselines are counted on; null leaves them out.
Figures measure(Engine& engine, const LanguageModel& model, const Corpus* trained_on, TokenView split,
                const std::string& split_name, std::int64_t stride);

/// interface of `eval --json`.
nlohmann::ordered_json to_json(const Figures& figures);
/// A few lines for people: the loss beside what counting and compressing give.
std::string to_text(const Figures& figures);

}  // namespace chargpt
