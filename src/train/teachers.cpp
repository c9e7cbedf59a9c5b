#include "train/teachers.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "kernels/kernels.h"
#include "network/model.h"
#include "network/model_types.h"
#include "predict/network.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/learner.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// Without links and "..", as far as the system says.
std::string whole_path(const fs::path& path) {
  std::error_code failed;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return (failed ? path : found).string();
}

/// "it lacks 'x' (U+0078), which this text has"
std::string difference_of(const Vocabulary& teacher, const Vocabulary& own) {
  if (teacher.units() != own.units())
    return line_of("its data.units is ", enum_name(teacher.units()), " and that of this run ", enum_name(own.units()));
  if (teacher.document() >= 0 && own.document() < 0) return "it has learned documents, and this text has none";
  if (teacher.document() < 0 && own.document() >= 0) return "this text has documents, and it has learned none";
  if (const std::vector<std::string> lacked = characters_only_in(own, teacher); !lacked.empty())
    return "it lacks " + some_of(lacked) + ", which this text has";
  return "it has " + some_of(characters_only_in(teacher, own)) + ", which this text lacks";
}

/// How a teacher may know what this run is scored on; empty where it learned from the same part of the same text.
std::string foreign_text(const Checkpoint& teacher, const Config& config, const Corpus& corpus) {
  constexpr const char* so = ": if that holds what is held out here, validation losses are too low";
  const Fingerprint &its = teacher.state.data, &own = corpus.fingerprint();
  if (its == Fingerprint{}) return std::string("was imported without its text") + so;
  const std::string difference =
      text_difference({teacher.config.config.data, teacher.vocabulary, its}, {config.data, corpus.vocabulary(), own});
  if (difference.empty()) return "";
  return std::string("was trained on another ") + (its == own ? "part of this text (" : "text (") + difference + ")" +
         so;
}

Checkpoint loaded(const std::string& path) {
  try {
    return load_checkpoint(path, "best");
  } catch (const Error& error) {
    throw Error(error.code(), "train.teacher: ", error.what(),
                "; a run needs its teachers: put this one back, or name others with --teacher");
  }
}

}  // namespace

struct Teachers::Teacher {
  Teacher(const std::string& path, std::int64_t threads)
      : checkpoint(loaded(path)),
        model(checkpoint, Weights::better),
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
  NetworkPredictor network;
  const std::string shown;
};

std::vector<std::string> settle_teachers(ResolvedConfig& resolved) {
  std::vector<std::string> notices;
  Strings settled;
  try {
    for (const std::string& name : resolved.config.train.teacher) {
      const Checkpoint checkpoint = load_checkpoint(run_meant(name), "best", /*with_optimizer=*/false, &notices);
      settled.push_back(whole_path(checkpoint.path));
      if (std::ranges::count(settled, settled.back()) > 1)
        throw Error(ExitCode::usage, printable_path(name), " is named twice; name each teacher once");
    }
  } catch (const Error& error) {
    throw with_origin(Error(error.code(), "train.teacher: ", error.what()), resolved);
  }
  resolved.config.train.teacher = std::move(settled);
  return notices;
}

void Teachers::refuse_own(const fs::path& run) const {
  for (const auto& teacher : teachers_)
    if (const fs::path its = run_place(teacher->checkpoint.path, "").run;
        !its.empty() && whole_path(its) == whole_path(run))
      throw Error(ExitCode::usage, "train.teacher: ", teacher->shown, " belongs to this run; name another run");
}

Teachers::Teachers(const Config& config, const Corpus& corpus, std::int64_t threads) {
  for (const std::string& path : config.train.teacher) {
    const Teacher& teacher = *teachers_.emplace_back(std::make_unique<Teacher>(path, threads));
    teacher.check(config, corpus);
    if (const std::string line = foreign_text(teacher.checkpoint, config, corpus); !line.empty())
      notices_.push_back("the teacher " + teacher.shown + " " + line);
  }
  if (teachers_.empty()) return;
  const std::string who = teachers_.size() == 1
                              ? "what " + teachers_.front()->shown + " predicts"
                              : "the mean of what " + format_count(std::ssize(teachers_)) + " teachers predict";
  notices_.insert(notices_.begin(), line_of("the targets are mixed with ", who, " (train.teacher_weight ",
                                            config.train.teacher_weight, "); all losses are of the text alone"));
}

Teachers::~Teachers() = default;

std::vector<TeacherWeights> Teachers::weights() const {
  std::vector<TeacherWeights> all;
  for (const auto& teacher : teachers_)
    all.push_back({whole_path(teacher->checkpoint.path), weights_digest(teacher->model)});
  return all;
}

void Teachers::predict(const WindowBatch& windows, std::span<float> q) {
  logits_.resize(q.size());
  std::ranges::fill(q, 0.0F);
  const auto V = static_cast<long>(teachers_.front()->model.vocab_size());
  for (const auto& teacher : teachers_) {
    teacher->network.logits(windows, logits_);
    cpu::kernels().add_softmax(static_cast<long>(windows.numel()), V, logits_.data(),
                               1.0F / static_cast<float>(teachers_.size()), q.data());
  }
}

void refuse_changed_teachers(const Checkpoint& checkpoint, const RunConditions& now) {
  for (const TeacherWeights& then : checkpoint.state.teachers)
    for (const TeacherWeights& here : now.teachers)
      if (here.checkpoint == then.checkpoint && here.crc64 != then.crc64)
        throw Error(ExitCode::data, "train.teacher: ", printable_path(then.checkpoint), " has other weights than when ",
                    printable_path(checkpoint.path),
                    " learned from it; put those back, or name another teacher with --teacher");
}

void check_same_teachers(Communicator& ranks, const std::vector<TeacherWeights>& weights) {
  std::uint64_t sum = 0;
  for (const TeacherWeights& teacher : weights) sum = crc64(std::as_bytes(std::span(&teacher.crc64, 1)), sum);
  check_same(ranks, sum, "has teachers of other weights than rank 0; give all the same");
}

}  // namespace chargpt
