#include "train/teachers.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "kernels/kernels.h"
#include "network/model.h"
#include "network/model_types.h"
#include "predict/network.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/inherit.h"
#include "train/learner.h"

namespace chargpt {
namespace {

/// How the vocabularies differ: "it lacks 'x' (U+0078), which this text has".
std::string difference_of(const Vocabulary& teacher, const Vocabulary& own) {
  if (teacher.units() != own.units())
    return line_of("its data.units is ", enum_name(teacher.units()), " and that of this run ", enum_name(own.units()));
  if (teacher.document() >= 0 && own.document() < 0) return "it has learned documents, and this text has none";
  if (teacher.document() < 0 && own.document() >= 0) return "this text has documents, and it has learned none";
  if (const std::vector<std::string> lacked = characters_only_in(own, teacher); !lacked.empty())
    return "it lacks " + some_of(lacked) + ", which this text has";
  return "it has " + some_of(characters_only_in(teacher, own)) + ", which this text lacks";
}

/// Loads a teacher: from a run its best checkpoint, or the step in `then` if that is not null.
Checkpoint loaded(const std::string& teacher, const TeacherWeights* then) {
  const fs::path path = run_meant(teacher);
  const bool same_step = then != nullptr && fs::is_directory(path);
  try {
    expect_run(path);
    return load_checkpoint(path, same_step ? "step-" + std::to_string(then->step) : "best");
  } catch (const Error& error) {
    throw Error(error.code(), "train.teacher: ", error.what(),
                then == nullptr ? "" : "; a run needs its teachers: put this one back, or name others with --teacher");
  }
}

}  // namespace

struct Teachers::Teacher {
  Teacher(const std::string& name_in, Checkpoint loaded, std::int64_t threads)
      : checkpoint(std::move(loaded)),
        model(checkpoint, Weights::better),
        weights{name_of_path(name_in), checkpoint.state.step, weights_digest(model)},
        network(model, static_cast<int>(threads)),
        shown(printable_path(checkpoint.path)) {}

  void check(const Config& config, const Corpus& corpus) const {
    const ModelConfig& own = checkpoint.config.config.model;
    if (!(checkpoint.vocabulary == corpus.vocabulary()))
      throw Error(ExitCode::data, "train.teacher: ", shown,
                  " has another vocabulary: ", difference_of(checkpoint.vocabulary, corpus.vocabulary()),
                  "; train the teacher on this text");
    if (leaks(own))
      throw Error(ExitCode::usage, "train.teacher: ", shown,
                  " sees the symbols that it has to predict (model.causal = false), so it can teach nothing");
    if (own.block_size < config.model.block_size)
      throw Error(ExitCode::usage, "train.teacher: ", shown, " has model.block_size = ", own.block_size,
                  ", and this run ", config.model.block_size,
                  "; a teacher's must be at least as large: give --block_size ", own.block_size, " or another teacher");
  }

  const Checkpoint checkpoint;
  const InferenceModel model;
  const TeacherWeights weights;
  NetworkPredictor network;
  const std::string shown;
};

void Teachers::refuse_own(const fs::path& run) const {
  std::error_code no_such_folder;
  for (const auto& teacher : teachers_)
    if (fs::equivalent(run_of(teacher->checkpoint.path), run, no_such_folder))
      throw Error(ExitCode::usage, "train.teacher: ", teacher->shown, " belongs to this run; name another run");
}

Teachers::Teachers(const ResolvedConfig& resolved, const Corpus& corpus, std::int64_t threads,
                   const std::vector<TeacherWeights>& then, std::string& caution) try {
  const Config& config = resolved.config;
  for (const std::string& name : config.train.teacher) {
    const TeacherWeights* const known = teachers_.size() < then.size() ? &then[teachers_.size()] : nullptr;
    const bool same = known != nullptr && known->name == name_of_path(name);
    const Teacher& teacher =
        *teachers_.emplace_back(std::make_shared<Teacher>(name, loaded(name, same ? known : nullptr), threads));
    std::ranges::copy(teacher.checkpoint.notices, std::back_inserter(notices_));
    teacher.check(config, corpus);
    if (same && teacher.weights.crc64 != known->crc64)
      throw Error(ExitCode::data, "train.teacher: ", teacher.shown, " has other weights than when the run learned ",
                  "from it; put those back, or name another teacher with --teacher");
    if (const std::string line = foreign_text(teacher.checkpoint, config, corpus); !line.empty()) {
      notices_.push_back("the teacher " + teacher.shown + " " + line);
      caution = "a teacher " + line;  // goes into exports, so it has no path
    }
  }
  if (teachers_.empty()) return;
  const std::string who = teachers_.size() == 1
                              ? "what " + teachers_.front()->shown + " predicts"
                              : "the mean of what " + format_count(std::ssize(teachers_)) + " teachers predict";
  notices_.insert(notices_.begin(), line_of("the targets are mixed with ", who, " (train.teacher_weight ",
                                            config.train.teacher_weight, "); all losses are of the text alone"));
} catch (const Error& error) {
  throw with_origin(error, resolved);
}

std::vector<TeacherWeights> Teachers::weights() const {
  std::vector<TeacherWeights> all;
  for (const auto& teacher : teachers_) all.push_back(teacher->weights);
  return all;
}

std::span<const float> Teachers::predict(std::span<const WindowBatch> micro_batches, const Heartbeat& heartbeat) {
  q_.clear();
  if (teachers_.empty()) return q_;
  const std::int64_t V = teachers_.front()->model.vocab_size();
  for (const WindowBatch& windows : micro_batches) {
    if (heartbeat) heartbeat(0);
    logits_.resize(static_cast<std::size_t>(windows.numel() * V));
    q_.resize(q_.size() + logits_.size());  // with zeros
    for (const auto& teacher : teachers_) {
      teacher->network.logits(windows, logits_);
      cpu::kernels().add_softmax(static_cast<long>(windows.numel()), static_cast<long>(V), logits_.data(),
                                 1.0F / static_cast<float>(teachers_.size()), q_.data() + q_.size() - logits_.size());
    }
  }
  return q_;
}

}  // namespace chargpt
