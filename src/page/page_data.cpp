#include "page/page_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/describe.h"
#include "network/model_types.h"
#include "report/charts/run_curves.h"
#include "report/events.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "run/run_files.h"
#include "text/text_listing.h"

namespace chargpt {
namespace {

constexpr std::size_t most_points = 1000, most_samples = 30;
constexpr std::uint64_t largest_sample = 1 << 20;

/// At most `most` rows, evenly spaced, including the last.
Json thinned(const Json& rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  Json kept = Json::array();
  for (std::size_t i = 1; i <= most; ++i) kept.push_back(rows[i * rows.size() / most - 1]);
  return kept;
}

/// The values at these keys, or null; the page draws only finite numbers.
Json numbers(const Json& row, std::initializer_list<const char*> keys) {
  Json values = Json::array();
  for (const char* key : keys) values.push_back(row.value(key, Json()));
  return values;
}

struct Metrics {
  Json steps = Json::array(), evaluations = Json::array();
};

Metrics read_metrics(const fs::path& path, std::vector<std::string>& notices) {
  Metrics metrics;
  MetricsReader reader(path);
  const auto begin = [&] { metrics = Metrics(); };
  const auto visit = [&](const Json& row) {
    const std::string& kind = row["kind"].get_ref<const std::string&>();
    if (kind == "train")
      metrics.steps.push_back(numbers(row, {"step", "seconds", "loss", "lr", "grad_norm", "tokens_per_second"}));
    else if (kind == "eval")
      metrics.evaluations.push_back(numbers(row, {"step", "seconds", "train_loss", "val_loss", "exact"}));
  };
  try {
    reader.read(begin, visit);
  } catch (const Error& error) {
    if (error.code() != ExitCode::data) throw;
    notices.push_back(std::string(error.what()) + "; the page has no curves of this run");
  }
  if (!reader.complaint().empty()) notices.push_back(reader.complaint());
  return metrics;
}

Json samples_of(const fs::path& run, std::vector<std::string>& notices) {
  Json found = Json::array(), samples = Json::array();
  for (const std::string& name : names_in(run, "samples"))
    if (const auto step = step_of(name, ".txt")) found.push_back({{"step", *step}, {"name", name}});
  for (const Json& sample : thinned(found, most_samples)) {
    try {
      samples.push_back(
          {{"step", sample["step"]},
           {"text", read_regular_file(run / "samples" / sample["name"].get<std::string>(), largest_sample)}});
    } catch (const Error& error) {
      notices.push_back(std::string(error.what()) + "; left out");
    }
  }
  return samples;
}

Json facts_of(const Checkpoint& checkpoint, const Config& config) {
  const RunState& state = checkpoint.state;
  return {{"config", config.name},
          {"text", text_of(state, config.data)},
          {"symbols", format_count(checkpoint.vocabulary.size())},
          {"parameters", format_count(state.parameters)},
          {"trained to", format_step(state.step, state.max_iters) + ", in " + format_duration(state.seconds)},
          {"seed", std::to_string(config.train.seed)},
          {"engine", state.engine + ", " + state.device + " (" + state.cpu_capability + "), " +
                         format_count(state.threads, "thread")},
          {"chargpt", state.program_version}};
}

// ---- the model

/// Nearest half-precision number, ties to even; beyond its range the largest one.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const float size = std::min(std::fabs(value), 65504.0F);
  if (size < 0x1p-14F) return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24F));
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);                                // in [1/2, 1)
  const auto rounded = static_cast<std::uint32_t>(std::nearbyint(fraction * 2048));  // 1024 to 2048
  const std::uint32_t half = (static_cast<std::uint32_t>(exponent + 14) << 10) + rounded - 1024;
  return sign | static_cast<std::uint16_t>(std::min(half, 0x7bffU));
}

}  // namespace

Json run_data(const fs::path& run, const Checkpoint& checkpoint, std::vector<std::string>& notices) {
  const RunState& state = checkpoint.state;
  const Config config = without_folders(checkpoint.config.config);
  const Metrics metrics = read_metrics(run / "metrics.jsonl", notices);
  return {{"name", name_of_path(run) + (leaks(config.model) ? " (leaks)" : "")},
          {"leaks", leaks(config.model)},
          {"parameters", state.parameters},
          {"val_loss", state.val_loss},
          {"best_val_loss", best_loss(state)},
          {"exact", state.exact},
          {"best_step", state.best_step == RunProgress::no_step ? Json() : Json(state.best_step)},
          {"seconds", state.seconds},
          {"steps", thinned(metrics.steps, most_points)},
          {"evaluations", thinned(metrics.evaluations, most_points)},
          {"samples", samples_of(run, notices)},
          {"facts", facts_of(checkpoint, config)},
          {"differs", Json::array()},
          {"config", to_json(config)}};
}

std::string text_of(const RunState& state, const DataConfig& data) {
  std::vector<std::string> names;
  for (const std::string& path : data.text) names.push_back(short_text_name(path));
  return joined(names, " + ") + ": " + format_count(state.data.tokens) + " " + std::string(enum_name(data.units));
}

Json baseline_data(const fs::path& run) {
  Json levels = Json::array();
  const Json baselines = value_at(run_fact(run, "figures"), "/baselines"), order = value_at(baselines, "/ngram/order");
  const auto add = [&](const char* place, const std::string& name) {
    if (const Json loss = value_at(baselines, place); loss.is_number()) levels.push_back({{"name", name}, {"y", loss}});
  };
  add("/ngram/loss_in_windows", "counted " + (order.is_number_integer() ? order.dump() : "") + "-grams");
  add("/ppmd/loss", "PPMd");
  add("/bigram", "counted pairs");
  return levels;
}

std::string verdict_data(const fs::path& run, const Json& best_step) {
  const Json figures = run_fact(run, "figures");
  if (best_step.is_null() || value_at(figures, "/checkpoint/step") != best_step) return "";  // of another checkpoint
  std::string text;
  for (const Json& line : value_at(figures, "/verdict"))
    if (line.is_string()) text += (text.empty() ? "" : " ") + line.get<std::string>();
  return text;
}

Json model_data(const InferenceModel& model, const Vocabulary& vocabulary) {
  Config config;
  config.model = model.config();
  Json data = {{"config", to_json(config)["model"]},
               {"symbols", vocabulary.symbols()},  // json_text() makes U+FFFD of a byte that is a part of a character
               {"bytes", vocabulary.units() == Units::bytes},
               {"vocab_size", vocabulary.size()}};
  const std::int64_t numel = count_parameters(model.config(), model.vocab_size());
  if (numel > most_page_parameters)
    throw Error(ExitCode::usage, "the model has ", format_short(static_cast<double>(numel)),
                " parameters, but a page can contain at most ", format_short(static_cast<double>(most_page_parameters)),
                "; leave them out with --no-model");
  std::string halves;
  Json tensors = Json::array();
  for_each_parameter(model.plan(), [&](const Parameter& parameter) {
    tensors.push_back({{"name", parameter.name}, {"shape", parameter.shape}});
    for (const float value : parameter.in(model.values())) {
      const std::uint16_t half = half_of(value);
      halves += static_cast<char>(half & 255);
      halves += static_cast<char>(half >> 8);
    }
  });
  data["tensors"] = std::move(tensors);
  data["values"] = base64(halves);
  return data;
}

}  // namespace chargpt
