// `chargpt audit RUN`: whether a model recites its training text.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/quote.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/figures.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "evaluate/copied_text.h"
#include "evaluate/shared_text.h"
#include "evaluate/split_loss.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/report.h"
#include "report/terminal.h"
#include "text/documents.h"

namespace chargpt {

namespace {

struct Arguments : ModelArguments {
  std::int64_t samples = 0, tokens = 1000, seed = 1337;  ///< samples 0: default_samples, or default_documents
  double temperature = 0.8;
};

/// Stretches of this length count as copied: held-out text of the same author has hardly any.
constexpr std::int64_t copied_stretch = 32;
constexpr std::int64_t default_samples = 16, default_documents = 400;

using Texts = std::vector<std::vector<std::int64_t>>;

/// For texts of documents: how many completed samples are documents of a split.
struct WrittenDocuments {
  std::int64_t ended = 0, trained_on = 0, held_out = 0;
  double times = 0;  ///< documents of the train split per held-out one; 0: none is held out whole
  std::int64_t fresh() const { return ended - trained_on - held_out; }
  double share(std::int64_t count) const {
    return ended == 0 ? 0 : static_cast<double>(count) / static_cast<double>(ended);
  }
  /// Share of recited documents, minus those expected by chance, estimated from the held-out ones.
  double recited() const { return share(trained_on) - times * share(held_out); }
};

/// Samples and held-out text compared with the train split.
struct Audit {
  Texts texts;  ///< the samples, without the ends of documents
  std::optional<WrittenDocuments> documents;
  CopiedText samples, held_out;
  double train_loss = 0, val_loss = 0;  ///< estimates
  std::int64_t shared = 0;              ///< tokens of the validation split that also appear in the train split
};

/// Counts the documents, and removes their end ids from the samples.
WrittenDocuments written_documents(Texts& texts, const Corpus& corpus) {
  const KnownDocuments trained_on(corpus.train()), held_out(corpus.val());
  WrittenDocuments written;
  if (held_out.count() > 0)
    written.times = static_cast<double>(trained_on.count()) / static_cast<double>(held_out.count());
  for (std::vector<std::int64_t>& text : texts) {
    if (text.back() != corpus.vocabulary().document()) continue;
    text.pop_back();
    ++written.ended;
    written.trained_on += trained_on.contain(text) ? 1 : 0;
    written.held_out += held_out.contain(text) ? 1 : 0;
  }
  return written;
}

/// The first held-out documents, as many as were sampled and no longer than a sample may be.
Texts held_out_documents(const Arguments& arguments, TokenView val) {
  Texts texts;
  each_document(val, [&](std::int64_t begin, std::int64_t end) {
    if (std::ssize(texts) < arguments.samples)
      texts.push_back(val.slice(begin, std::min(end - begin, arguments.tokens)).ids());
  });
  return texts;
}

/// Documents, or if none is held out whole as much text as was sampled, in pieces of the same length, spread over the
/// split.
Texts held_out_like(const Arguments& arguments, TokenView val) {
  if (Texts documents = held_out_documents(arguments, val); !documents.empty()) return documents;
  const std::int64_t length = std::min(arguments.tokens, val.size());
  const std::int64_t count = std::min(arguments.samples, val.size() / length);
  Texts texts;
  for (std::int64_t i = 0; i < count; ++i)
    texts.push_back(val.slice(i * (val.size() - length) / std::max<std::int64_t>(1, count - 1), length).ids());
  return texts;
}

Audit audit(const Arguments& arguments, const LoadedRun& run, const Corpus& corpus) {
  Audit result;
  const SampleConfig unfiltered{
      .tokens = arguments.tokens, .num_samples = arguments.samples, .temperature = arguments.temperature};
  result.texts = samples_of(run, unfiltered, arguments.seed, work_line("writing samples"));
  if (run.has_documents()) result.documents = written_documents(result.texts, corpus);
  result.samples = copied_text(result.texts, corpus.train(), copied_stretch);
  result.held_out = copied_text(held_out_like(arguments, corpus.val()), corpus.train(), copied_stretch);
  result.shared = shared_tokens(corpus.val(), corpus.train());
  const std::int64_t windows =
      std::max<std::int64_t>(1, std::min<std::int64_t>(1'000'000, corpus.val().size()) / run.model->block_size());
  result.train_loss = sampled_loss(*run.network, WindowCut(corpus.train(), run.model->block_size()), windows,
                                   work_line("measuring the loss on the train split"));
  result.val_loss = sampled_loss(*run.network, WindowCut(corpus.val(), run.model->block_size()), windows,
                                 work_line("measuring the loss on the validation split"));
  return result;
}

/// The conclusion, in one sentence.
std::string verdict(const Audit& audit) {
  const double recited = audit.documents ? audit.documents->recited() : 0;
  if (audit.samples.share >= 0.5 || recited >= 0.5) return "It mostly recites its training text.";
  if (audit.samples.share >= 0.05 + 2 * audit.held_out.share || recited >= 0.2)
    return "It recites its training text in part.";
  return "It writes text of its own.";
}

/// How many completed documents are new, and how many are in each split.
std::string documents_line(const Audit& audit) {
  const WrittenDocuments& documents = *audit.documents;
  const auto told = [&](std::int64_t count) {
    return documents.ended == 0 ? "–" : format_count(count) + " (" + format_percent(documents.share(count)) + ")";
  };
  const std::int64_t cut = std::ssize(audit.texts) - documents.ended;
  return fmt::format(
      "of {} written, {} are new, {} are in the train split and {} in the held-out split, which the model has not "
      "seen; {}{}\n",
      format_count(documents.ended, "document"), told(documents.fresh()), told(documents.trained_on),
      told(documents.held_out),
      documents.times > 0 ? fmt::format("the train split has {:.1f} times as many documents", documents.times)
                          : "no document is held out whole (data.max_val_tokens)",
      cut > 0 ? "; " + format_count(cut) + " more were cut off by --tokens" : "");
}

std::string gap_sentence(const Audit& audit) {
  const double gap = audit.val_loss - audit.train_loss;
  const char* const meaning = gap > 0.1 ? ":\nit predicts its training text better than new text" : "";
  return fmt::format("loss {} on the train split, {} on the validation split{}\n",
                     format_nats(audit.train_loss, /*exact=*/false), format_nats(audit.val_loss, /*exact=*/false),
                     meaning);
}

/// The stretch in quotation marks, cut off after a line.
std::string quoted_stretch(const std::string& stretch) {
  const std::string shown = printable(stretch, std::string::npos);
  const std::string_view fits = first_columns(shown, 70);
  return fmt::format("  \"{}{}\"\n", fits, fits.size() < shown.size() ? "..." : "");
}

/// `longest`: the longest copied stretch.
Report report_of(const LoadedRun& run, const Audit& audit, const std::string& longest, std::int64_t val_tokens) {
  const std::string unit = unit_word(run.config().data.units);
  Report report(
      {{"verdict", verdict(audit)},
       {"checkpoint", checkpoint_json(run)},
       {"copied_share", audit.samples.share},
       {"held_out_copied_share", audit.held_out.share},
       {"copied_stretch", copied_stretch},
       {"longest", {{"characters", std::ssize(audit.samples.longest)}, {"place", audit.samples.source_begin}}},
       {"held_out_longest", std::ssize(audit.held_out.longest)},
       {"train_loss", audit.train_loss},
       {"val_loss", audit.val_loss},
       {"exact", false},
       {"val_tokens_in_train", audit.shared}});
  add_text(report.json["longest"], "text", longest);
  Table table({"copied from the training text by", "samples", "held-out text"});
  table.add({"longest stretch, in " + unit + "s", format_count(std::ssize(audit.samples.longest)),
             format_count(std::ssize(audit.held_out.longest))});
  table.add({fmt::format("share of the text, in stretches of {} or more", copied_stretch),
             format_percent(audit.samples.share), format_percent(audit.held_out.share)});
  report.add(std::move(table));
  report.say("\nthe longest stretch of the samples:\n");
  report.draw(quoted_stretch(longest));
  report.say(gap_sentence(audit));
  const double shared = static_cast<double>(audit.shared) / static_cast<double>(val_tokens);
  if (const std::string line = shared_text_line(shared, run.config().data.units, "the validation split", "train split");
      !line.empty())
    report.say(line + "\n");
  if (const auto& documents = audit.documents) {
    report.json["documents"] = {{"written", documents->ended},
                                {"in_train", documents->trained_on},
                                {"in_held_out", documents->held_out},
                                {"new", documents->fresh()}};
    report.say(documents_line(audit));
  }
  report.say("\n" + verdict(audit) + "\n");
  return report;
}

Report run_audit(const Arguments& given) {
  Arguments arguments = given;
  const LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.use);
  if (leaks(run.config().model))
    throw Error(ExitCode::usage,
                "this model leaks: it saw its targets during training, so its samples are meaningless");
  if (arguments.samples == 0) arguments.samples = run.has_documents() ? default_documents : default_samples;
  const Corpus corpus = text_of_run(run);
  part_to_score(corpus, "val", run);  // refuses too small a validation split
  const Audit result = audit(arguments, run, corpus);
  const std::string longest = run.checkpoint.vocabulary.decode(result.samples.longest);
  return report_of(run, result, longest, corpus.val().size());
}

}  // namespace

void add_audit(Options& options) {
  Arguments& arguments = arguments_for(options, run_audit);
  add_run_argument(options, arguments.run);
  options.add("--samples", arguments.samples, "samples to write")
      .range(1, 10000)
      .default_text(fmt::format("{}, or {} documents", default_samples, default_documents));
  options.add("--tokens", arguments.tokens, "characters of each, at most").range(1, 1'000'000);
  options.add("--temperature", arguments.temperature, "temperature of the samples").range(0);
  options.add("--seed", arguments.seed, "seed of the samples").range(0);
  add_weights_options(options, arguments);
  add_device_arguments(options, arguments.use);
}

}  // namespace chargpt
