// What `compare` needs beside its trainings: runs that were trained before, scored on the text they share; and how any
// comparison is shown: as a table, JSON, Markdown.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/training/training.h"
#include "compare/ladder.h"
#include "compare/ranking.h"
#include "text/corpus.h"

namespace chargpt {

/// Whether a word names a run, or one checkpoint of it, rather than a preset or a config's file.
bool names_run(const std::string& word);

/// The runs' best checkpoints, scored on the whole validation split without LibTorch where no device asks for it.
/// Errors: usage for a run given twice, and for runs whose text, units or split differ; else as load_run.
Comparison compare_runs(const std::vector<std::string>& runs, const TrainingArguments& arguments);

enum class ComparisonForm { table, json, markdown };

/// What `compare ladder` shows in place of the ranks.
struct LadderReport {
  std::vector<ClimbedRung> rungs;
  std::vector<Counted> counted;
};

/// The rungs of `comparison`, which must outlive the report, beside what counting reaches on the validation split of
/// `corpus`, with all the text before each character and within windows of `block_size`.
LadderReport ladder_report(const Comparison& comparison, const Corpus& corpus, std::int64_t block_size);

/// What `compare --json` prints, and compare.json holds.
nlohmann::ordered_json to_json(const Comparison& comparison, const std::optional<LadderReport>& ladder);

/// The comparison on stdout, what a reader of it must know on stderr.
void print_comparison(const Comparison& comparison, ComparisonForm form,
                      const std::optional<LadderReport>& ladder = {});

}  // namespace chargpt
