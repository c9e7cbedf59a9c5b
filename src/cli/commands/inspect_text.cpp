#include "cli/commands/inspect_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/quote.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/runs/figures.h"
#include "cli/runs/run_text.h"
#include "evaluate/baseline.h"
#include "evaluate/shared_text.h"
#include "evaluate/split_check.h"
#include "predict/counts.h"
#include "report/format.h"
#include "report/terminal.h"
#include "text/corpus.h"

namespace chargpt {

namespace {

/// The symbols and their counts, most frequent first.
Json symbol_counts(const Corpus& corpus) {
  const TokenView text = corpus.all();
  const std::vector<std::int64_t> counts = frequencies_of(text, corpus.vocabulary().size());
  std::vector<std::int64_t> ids(counts.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count_of = [&](std::int64_t id) { return counts[static_cast<std::size_t>(id)]; };
  std::ranges::stable_sort(ids, std::greater(), count_of);
  Json symbols = Json::array();
  for (const std::int64_t id : ids) {
    const std::string symbol = corpus.vocabulary().symbol(id);
    const char32_t character = decode_character(symbol).code_point;
    const std::string_view name = name_of_invisible(character);
    symbols.push_back({{"symbol", symbol},
                       {"code_point", code_point_name(character)},
                       {"name", name.empty() ? Json() : Json(name)},
                       {"count", count_of(id)},
                       {"share", static_cast<double>(count_of(id)) / static_cast<double>(text.size())}});
  }
  return symbols;
}

std::string split_text(const Json& json) {
  std::string text =
      format_count(json["train"], "character") + " to train on, " + format_count(json["val"]) + " to validate";
  if (!json["val_tokens_in_train"].is_number()) return text;
  const double part = json["val_tokens_in_train"].get<double>() / json["baselines"]["measured_tokens"].get<double>();
  return fmt::format("{}; {} of these also appear in the train split, in stretches of {} or more", text,
                     format_percent(part), shared_stretch);
}

void add_symbols(Report& report, bool all) {
  constexpr std::size_t some = 12;
  Json symbols = report.json["symbol_counts"];
  const std::size_t rarer = all || symbols.size() <= some ? 0 : symbols.size() - some;
  symbols.erase(symbols.end() - static_cast<std::ptrdiff_t>(rarer), symbols.end());
  report.add(table_of(symbols, {{"symbol", as_is("code_point")},
                                {"", [](const Json& row) { return row[row["name"].is_null() ? "symbol" : "name"]; }},
                                {"count", as_is("count")},
                                {"share", cell("share", [](double share) { return format_percent(share, 2); })}}));
  if (rarer > 0)
    report.say("and " + format_count(static_cast<std::int64_t>(rarer), "rarer symbol") + "; --all lists them\n");
}

Json describe_text(const std::string& path) {
  DataConfig data;
  data.text = {path};
  const Corpus corpus = load_corpus(data, std::nullopt, reading_line());
  Json json = {{"kind", "text"},
               {"path", path},
               {"file_count", corpus.files()},
               {"characters", corpus.all().size()},
               {"vocab_size", corpus.vocabulary().size()},
               {"train", corpus.train().size()},
               {"val", corpus.val().size()},
               {"notices", corpus.notices()},
               {"symbol_counts", symbol_counts(corpus)},
               {"val_tokens_in_train", nullptr},
               {"baselines", nullptr}};
  if (corpus.val_tokens() > corpus.val().size())
    json["notices"].push_back(line_of("validation scores the first ", corpus.val().size(), " of the ",
                                      corpus.val_tokens(), " tokens held out (data.max_val_tokens)"));
  const std::string notice = split_notice(corpus, check_split(corpus));
  if (!notice.empty()) json["notices"].push_back(notice);
  if (corpus.val().size() < 2) return json;
  const Baselines baselines =
      compute_baselines(corpus, corpus.val(), corpus.val().size(), /*stride=*/0, work_line("measuring baselines"));
  json["val_tokens_in_train"] = baselines.shared;
  json["baselines"] = to_json(baselines);
  return json;
}

}  // namespace

Report report_of_text(const std::string& path, bool all) {
  Report report(describe_text(path));
  const Json& json = report.json;
  Table table;
  table.add({"text", json["path"]});
  if (json["file_count"] > 1) table.add({"files", format_count(json["file_count"])});
  table.add({"characters", format_count(json["characters"]) + " (" + format_count(json["vocab_size"]) + " different)"});
  table.add({"split", split_text(json)});
  for (const Json& notice : json["notices"]) table.add({"notice", notice});
  report.add(std::move(table));
  report.draw("\n");
  add_symbols(report, all);
  if (json["baselines"].is_null()) return report;
  Table baselines({"baseline, on the validation split", "nats/char", "bits/char"});
  add_baselines(baselines, json["baselines"]);
  report.draw("\n");
  report.add(std::move(baselines));
  return report;
}

}  // namespace chargpt
