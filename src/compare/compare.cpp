#include "compare/compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "config/describe.h"
#include "network/model_types.h"
#include "report/format.h"
#include "run/kept_text.h"
#include "train/evaluator.h"
#include "train/schedule.h"

namespace chargpt {
namespace {

bool same_text(const Corpus& a, const Corpus& b) {
  return a.fingerprint() == b.fingerprint() && a.vocabulary() == b.vocabulary() &&
         a.train().size() == b.train().size() && a.val().size() == b.val().size() && a.test().size() == b.test().size();
}

/// Whether this folder is a run whose config names the same texts, with the same split.
bool was_given(const fs::path& run, const Config& config) {
  try {
    return changed_options(read_config(run).config, config, "data").empty();
  } catch (const Error&) {
    return false;
  }
}

/// Loads the text that the config names; if it is missing, the copy in a run of this comparison with the same names.
Corpus load_text(const Config& config, const fs::path& out, const Heartbeat& heartbeat) {
  try {
    return load_corpus(config.data, std::nullopt, heartbeat);
  } catch (const Error& error) {
    if (error.code() != ExitCode::missing || !is_folder(out)) throw;
    for (const std::string& name : entries_of(out))
      if (was_given(out / name, config))
        if (auto kept = kept_text(out / name, config.data)) return *std::move(kept);
    throw;
  }
}

}  // namespace

std::vector<PlannedRun> planned_runs(const std::vector<Variant>& variants, std::int64_t seeds, const fs::path& out) {
  std::vector<PlannedRun> all;
  const auto seed_folder = [](const Variant& variant, std::int64_t seed) {
    return one_word(variant.name()) + "-seed" + std::to_string(seed);
  };
  const std::int64_t first = variants.front().options.config.train.seed, total = seeds * std::ssize(variants);
  for (std::int64_t seed = first; seed < first + seeds; ++seed)
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const bool replays = variants[i].options.config.train.max_seconds > 0 && seed != first;
      all.push_back({.config = i,
                     .name = variants[i].name(),
                     .options = variants[i].options,
                     .folder = out / seed_folder(variants[i], seed),
                     .replays = replays ? out / seed_folder(variants[i], first) : fs::path(),
                     .number = std::ssize(all) + 1,
                     .total = total});
      apply_overrides(all.back().options, std::vector<Override>{{"train.seed", std::to_string(seed), "--seed"}});
    }
  return all;
}

void check_jobs(const std::vector<Variant>& variants, std::int64_t jobs) {
  for (const Variant& variant : variants)
    if (const double seconds = variant.options.config.train.max_seconds; jobs > 1 && seconds > 0)
      throw Error(ExitCode::usage, "--jobs ", jobs,
                  " cannot be combined with train.max_seconds = ", nlohmann::ordered_json(seconds).dump(), " of ",
                  variant.name(),
                  ": runs that share the machine make different numbers of steps. Use --max-iters or --max-epochs, or "
                  "remove --jobs");
}

Corpus common_text(const std::vector<Variant>& variants, const fs::path& out, const Heartbeat& heartbeat) {
  const Config& first = variants.front().options.config;
  Corpus corpus = load_text(first, out, heartbeat);
  for (const Variant& variant : variants) {
    const Config& config = variant.options.config;
    const std::vector<std::string> changed = changed_options(first, config, "data");
    if (!changed.empty() && !same_text(corpus, load_text(config, out, heartbeat)))
      throw Error(ExitCode::usage, "configs ", first.name, " and ", config.name, " differ in their text (",
                  changed.front(), "); losses can be compared only on the same text, units and split");
    check_model_config(config.model);
    check_splits(corpus, config.model.block_size);
  }
  return corpus;
}

void check_target(const std::vector<Variant>& variants, const Corpus& corpus) {
  for (const Variant& variant : variants) {
    const Config& config = variant.options.config;
    const std::int64_t interval = evaluation_interval(config, most_steps(config, corpus.train().size())),
                       all = WindowCut(corpus.val(), config.model.block_size).count(), batch = config.train.batch_size;
    if (windows_to_score(config, corpus.val().size(), interval) < all)
      throw Error(ExitCode::usage, "--target needs evaluations of the whole split, but ", config.name,
                  " evaluates only a part of it; add --eval_iters ", (all + batch - 1) / batch);
  }
}

}  // namespace chargpt
