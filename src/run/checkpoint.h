// A checkpoint folder: complete or absent. Pure data in and out; knows no tensor library and no model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_folder.h"
#include "config/load.h"
#include "report/events.h"
#include "run/safetensors.h"
#include "text/corpus.h"

namespace chargpt {

/// How far a run has come: all that a resumed run goes on with beside weights and moments, and it takes it whole.
/// Randomness is a function of (seed, step), so no generator state is here.
struct RunProgress {
  static constexpr std::int64_t no_step = -1;
  std::int64_t step = 0;  ///< finished
  std::int64_t max_iters = 0;
  double seconds = 0;           ///< spent so far, over all processes
  double training_seconds = 0;  ///< of these, in steps
  /// At this step, where it was evaluated.
  double val_loss = std::numeric_limits<double>::infinity();
  double averaged_val_loss = std::numeric_limits<double>::infinity();  ///< of averaged weights, where there are any
  /// Of the better of the two.
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = no_step;
  std::int64_t evals_without_improvement = 0;
  Ending ended = Ending::unknown;  ///< why there is no later step
};

/// A checkpoint that a run learns from.
struct TeacherWeights {
  std::string checkpoint;   ///< its folder, absolute
  std::uint64_t crc64 = 0;  ///< CRC-64 of all parameters
};

/// What a run is made of and runs on: each process finds it anew. Resuming compares it with the checkpoint's: another
/// text is refused, a difference after which the bits do not repeat is announced.
struct RunConditions {
  Fingerprint data{};
  std::int64_t parameters = 0;
  /// Id that a sample without a prompt starts from: newline, or the text's most frequent.
  std::int64_t start_symbol = 0;
  std::string program_version{}, libtorch_version{}, cpu_capability{}, device{}, engine{};
  std::int64_t threads = 0;                ///< of each rank
  std::int64_t ranks = 1;                  ///< processes that train it together
  std::vector<TeacherWeights> teachers{};  ///< of train.teacher
};

/// What state.json holds.
struct RunState : RunProgress, RunConditions {};

nlohmann::ordered_json to_json(const RunState& state);
/// Strict: Error data naming `source` where a field is missing, of another type or out of range, or the version newer.
RunState run_state_from_json(const nlohmann::json& json, const std::string& source);

/// What the folder of a checkpoint is called: 2000 -> "step-00002000"
std::string checkpoint_name(std::int64_t step);
/// The step of such a name; none for any other text.
std::optional<std::int64_t> checkpoint_step(std::string_view name);

inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";
inline constexpr const char* averaged_file = "averaged.safetensors";  ///< only where weights are averaged
inline constexpr const char* state_file = "state.json";
inline constexpr const char* vocabulary_file = "vocab.json";
inline constexpr const char* config_file = "config.json";
inline constexpr const char* manifest_file = "MANIFEST.json";

/// Whether a checkpoint has a file of that name.
bool is_checkpoint_file(std::string_view name);

// MANIFEST.json: which files belong to a checkpoint, how long they are and what they sum to.

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint64_t crc64 = 0;
  bool operator==(const FileSum&) const = default;
};

/// By name: the files above it.
using Manifest = std::map<std::string, FileSum>;

std::string manifest_text(const Manifest& manifest);

/// Error data naming `source` unless it lists exactly the files of a checkpoint; other names are never taken from it.
Manifest parse_manifest(std::string_view text, const std::string& source);

/// Reads folder's MANIFEST.json. Error data where it is missing or damaged.
Manifest read_manifest(const OpenFolder& folder);

/// The bytes of a file that has that size and sum: what was checked is what is used, whatever becomes of the file.
/// Error data unless it is there and has them, io where it cannot be read.
std::string read_checked(const OpenFolder& folder, const std::string& name, const FileSum& sum);

struct Checkpoint {
  std::filesystem::path path;
  RunState state;
  Vocabulary vocabulary;
  ResolvedConfig config;
  std::unique_ptr<SafetensorsFile> model{};
  std::unique_ptr<SafetensorsFile> averaged{};   ///< null where no weights are averaged
  std::unique_ptr<SafetensorsFile> optimizer{};  ///< null where only sampling was asked for
};

/// Error data / missing / io naming the file and what is wrong with it.
ResolvedConfig read_config(const OpenFolder& folder);

/// state.json after it was checked against the manifest. Errors as read_checkpoint.
RunState read_checked_state(const OpenFolder& folder);

/// All of it, strictly read, every file first checked against the manifest; optimizer.safetensors is looked at only
/// `with_optimizer`.
Checkpoint read_checkpoint(const OpenFolder& folder, bool with_optimizer);

/// One file of a checkpoint as `inspect --verify` shows it.
struct FileReport {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t crc64 = 0;
  std::string problem;  ///< empty: size, sum and form are right
};

/// Every file of one checkpoint folder, MANIFEST.json first (nothing else is looked at where that is damaged), each
/// checked as read_checkpoint does.
std::vector<FileReport> verify_checkpoint(const OpenFolder& folder);

}  // namespace chargpt
