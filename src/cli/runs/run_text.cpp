#include "cli/runs/run_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/names.h"
#include "cli/output.h"
#include "report/format.h"
#include "report/log.h"
#include "text/text_bytes.h"
#include "text/text_listing.h"

namespace chargpt {

void choose_text(ResolvedConfig& config) {
  Strings& text = config.config.data.text;
  Origin& origin = config.origin.at("data.text");
  const auto is_given = [](const std::string& name) { return is_there(name); };
  const bool is_named = origin.by != Origin::By::standard && origin.by != Origin::By::preset;  // by the user
  if (is_named || std::ranges::all_of(text, is_given)) return;
  const std::string note = "no --text was given, and " + joined(text, ", ") +
                           " does not exist: using the built-in sample, " +
                           format_count(static_cast<std::int64_t>(sample_text().size())) +
                           " characters (too short for good results); to train on your own text: --text FILE";
  static std::string said;  // several configs of a command would repeat it
  if (std::exchange(said, note) != note) log_note(note);
  text = {std::string(sample_text_name)};
  origin = {Origin::By::program, "built in"};
}

Heartbeat reading_line() {
  return work_line("reading the text", /*after=*/1);
}

void tell(const std::string& line) {
  if (!line.empty()) log_note(line);
}

Corpus named_text(const DataConfig& data, const std::optional<Vocabulary>& known) {
  Corpus corpus = load_corpus(data, known, reading_line());
  log_notices(corpus);
  return corpus;
}

void log_notices(const Corpus& corpus) {
  for (const std::string& notice : corpus.notices()) log_note(notice);
}

Corpus text_of_run(const Checkpoint& checkpoint, const DataConfig& data, const std::filesystem::path& run, bool named) {
  if (!named && run.empty())
    throw Error(ExitCode::missing, checkpoint.path,
                " is a checkpoint outside a run, so its text is unknown; give the run's folder, or a text (eval --text "
                "FILE, score CHECKPOINT FILE, explain --prompt S)");
  const KnownText known{data, checkpoint.vocabulary, checkpoint.state.data, run};
  FoundText found = find_text(known, named, reading_line());
  if (!found.damage.empty()) log_warning(found.damage, ": its files are read instead");
  return std::move(found.corpus);
}

Corpus text_of_run(const LoadedRun& run) {
  return text_of_run(run.checkpoint, run.config().data, run.folder, /*named=*/false);
}

}  // namespace chargpt
