#include "compare/planned_run.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/heartbeat.h"
#include "compare/runs.h"
#include "config/describe.h"
#include "engine/device.h"
#include "evaluate/split_loss.h"
#include "network/model.h"
#include "network/model_types.h"
#include "predict/network.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/strict_json.h"
#include "train/conditions.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

// The losses on the disk; what is read is hostile until its sum is right.

static_assert(std::endian::native == std::endian::little, "val_losses.f32 is written as the processor holds it");

constexpr int version = 1;
constexpr const char *header_name = "val_losses.json", *losses_name = "val_losses.f32";

std::string_view bytes_of(const std::vector<float>& losses) {
  return {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(float)};
}

/// The keys of val_losses.json that are plain numbers; null stands for one that is not finite, or not there.
template <class Kept, class Visit>
void each_figure(Kept& kept, const Visit& visit) {
  visit("seed", kept.seed.seed);
  visit("loss", kept.seed.loss);
  visit("seconds", kept.seed.seconds);
  visit("tokens_per_second", kept.seed.tokens_per_second);
  visit("step", kept.seed.step);
  visit("updates", kept.seed.steps);
  visit("jobs", kept.seed.jobs);
  visit("lowest_loss", kept.seed.lowest_loss);
  visit("lowest_step", kept.seed.lowest_step);
  visit("test_loss", kept.seed.test_loss);
  visit("params", kept.params);
  visit("block_size", kept.block_size);
  visit("leaks", kept.leaks);
}

nlohmann::ordered_json header_of(const KeptRun& kept) {
  nlohmann::ordered_json header = {
      {"version", version}, {"count", kept.seed.losses.size()}, {"crc64", json_hex(crc64(bytes_of(kept.seed.losses)))}};
  each_figure(kept, [&]<class Value>(const char* key, const Value& value) {
    if constexpr (std::is_same_v<Value, std::optional<double>>)
      header[key] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    else
      header[key] = value;
  });
  header["ended"] = enum_name(kept.seed.ended);
  header["text"] = {{"tokens", kept.text.tokens}, {"crc64", json_hex(kept.text.crc64)}};
  return header;
}

std::vector<float> read_losses(const fs::path& run, const nlohmann::json& header) {
  const std::string bytes = read_regular_file(run / losses_name);
  if (bytes.size() / sizeof(float) != header.at("count").get<std::size_t>() || bytes.size() % sizeof(float) != 0 ||
      json_hex(crc64(bytes)) != header.at("crc64").get<std::string>())
    throw Error(ExitCode::data, "val_losses.f32 is not what val_losses.json says");
  std::vector<float> losses(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(losses.data(), bytes.data(), bytes.size());
  return losses;
}

KeptRun parse(const fs::path& run, const nlohmann::json& header) {
  if (header.at("version") != version) throw Error(ExitCode::data, "another version of val_losses.json");
  KeptRun kept;
  kept.seed.run = run;
  kept.seed.losses = read_losses(run, header);
  each_figure(kept, [&]<class Value>(const char* key, Value& value) {
    const nlohmann::json& found = header.at(key);
    if (found.is_null()) return;
    if constexpr (std::is_same_v<Value, std::optional<double>>)
      value = found.get<double>();
    else
      found.get_to(value);
  });
  kept.seed.ended = enum_value<Ending>(header.at("ended").get<std::string>()).value_or(Ending::unknown);
  header.at("text").at("tokens").get_to(kept.text.tokens);
  const std::string sum = header.at("text").at("crc64").get<std::string>();
  std::from_chars(sum.data(), sum.data() + sum.size(), kept.text.crc64, 16);
  return kept;
}

/// The text as run_all() left it; one too long for that where it is named.
Corpus text_of(const fs::path& run, const DataConfig& data, const ReadingProgress& reading) {
  if (auto kept = kept_text(run, data)) return *std::move(kept);
  return load_corpus(data, std::nullopt, reading);
}

/// The whole training, from what is in the folder to what is kept there.
class Training {
 public:
  explicit Training(const PlannedTraining& training)
      : training_(training),
        begun_(last_checkpoint(training)),
        config_(begun_ ? begun_->config : config_of_run_folder(training.run)),
        corpus_(text_of(training.run, config_.config.data, training.reading)) {}

  bool run(const std::function<void(Trainer&, std::optional<std::int64_t>)>& listen) {
    Trainer trainer(config_, corpus_, options());
    if (begun_) trainer.resume_from(*begun_);
    listen(trainer, begun_ ? std::optional(begun_->state.step) : std::nullopt);
    try {
      if (trainer.run() == Ending::stopped) return false;
      keep_losses(training_.run, scored(trainer));
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

 private:
  static std::optional<Checkpoint> last_checkpoint(const PlannedTraining& training) {
    if (list_checkpoints(training.run).empty()) return std::nullopt;
    std::vector<std::string> notices;
    Checkpoint checkpoint = load_checkpoint(training.run, "last", /*with_optimizer=*/true, &notices);
    if (training.told) training.told(notices);
    return checkpoint;
  }

  /// A run that goes on keeps its number of threads, however many jobs there are now, unless one is asked for.
  TrainerOptions options() const {
    TrainerOptions options = training_.trainer;
    options.run = training_.run;
    options.process_started = 0;
    if (begun_) options = options_to_resume(options, begun_->state);
    // A first run that failed, or that patience ended, has shares of a part alone.
    std::string ignored;
    const auto first = training_.replays.empty() ? std::nullopt : kept_losses(training_.replays, ignored);
    if (first && (first->seed.ended == Ending::seconds || first->seed.ended == Ending::finished))
      options.replayed_shares = load_checkpoint(list_checkpoints(training_.replays).back(), "last").state.shares;
    const std::int64_t asked_for = training_.trainer.threads;
    if (training_.jobs > 1 && (asked_for > 0 || options.threads == 0))
      options.threads = std::max<std::int64_t>(1, (asked_for > 0 ? asked_for : physical_cores()) / training_.jobs);
    return options;
  }

  /// Of the last weights: the best checkpoint is the best on the very split that is scored, and a run that is evaluated
  /// more often would have more to choose from.
  KeptRun scored(Trainer& trainer) const {
    const Checkpoint last = load_checkpoint(list_checkpoints(training_.run).back(), "last");  // and no other
    trainer.use_weights(last);
    const std::int64_t block_size = config_.config.model.block_size;
    SplitLoss loss = split_loss(trainer.engine(), corpus_.val(), block_size, 0, until_stopped_);
    if (!std::isfinite(loss.mean))
      throw Error(ExitCode::diverged, "the weights of ", last.path.string(), " give no finite loss");
    const RunState& state = trainer.state();
    KeptRun kept{
        .seed = {.seed = config_.config.train.seed,
                 .loss = loss.mean,
                 .seconds = state.seconds,
                 .tokens_per_second = training_speed(trainer.config().config, state.step, state.training_seconds),
                 .step = last.state.step,
                 .steps = state.step,
                 .ended = state.ended,
                 .jobs = training_.jobs,
                 .run = training_.run,
                 .losses = std::move(loss.losses)},
        .params = state.parameters,
        .block_size = block_size,
        .leaks = leaks(config_.config.model),
        .text = corpus_.fingerprint()};
    score_test_split(kept.seed);
    if (!trainer.evaluates_exactly() || state.best_step < 0)
      return kept;  // estimates compare with no loss of the split
    kept.seed.lowest_loss = last.state.best_val_loss;
    kept.seed.lowest_step = last.state.best_step;
    return kept;
  }

  /// Of the best checkpoint: the validation split chose it, and the test split chose nothing.
  void score_test_split(SeedRun& seed) const {
    if (corpus_.test_tokens() == 0) return;
    const Checkpoint best = load_checkpoint(training_.run, "best");
    const InferenceModel model(best, Weights::better);
    NetworkPredictor network(model, thread_count(options().threads));
    seed.test_loss = split_loss(network, corpus_.test(), model.block_size(), 0, until_stopped_).mean;
  }

  const PlannedTraining& training_;
  std::optional<Checkpoint> begun_;
  ResolvedConfig config_;
  Corpus corpus_;
  const Heartbeat until_stopped_ = [this](double) {
    if (const std::atomic<bool>* stop = training_.trainer.stop; stop != nullptr && stop->load()) throw Interrupted{};
  };
};

}  // namespace

bool train_planned(const PlannedTraining& training,
                   const std::function<void(Trainer&, std::optional<std::int64_t> resume_step)>& listen) {
  const RunLock lock(training.run);
  remove_unfinished_files(training.run);
  return Training(training).run(listen);
}

void keep_losses(const fs::path& run, const KeptRun& kept) {
  write_file_atomically(run / losses_name, bytes_of(kept.seed.losses));
  write_file_atomically(run / header_name, json_text(header_of(kept)));
}

std::optional<KeptRun> kept_losses(const fs::path& run, std::string& problem) {
  const fs::path path = run / header_name;
  if (type_at(path) == fs::file_type::not_found) return std::nullopt;
  try {
    constexpr std::uint64_t largest_header = 1 << 20;
    return parse(run, nlohmann::json::parse(read_regular_file(path, largest_header)));
  } catch (const std::exception& error) {
    if (const auto* ours = dynamic_cast<const Error*>(&error); ours != nullptr && ours->code() == ExitCode::io) throw;
    problem = path.string() + " cannot be used (" + error.what() + ")";
    return std::nullopt;
  }
}

}  // namespace chargpt
