#include "cli/commands/inspect_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/characters.h"
#include "base/names.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/runs/figures.h"
#include "cli/runs/run_text.h"
#include "evaluate/baseline.h"
#include "evaluate/shared_text.h"
#include "evaluate/split_check.h"
#include "report/format.h"
#include "report/terminal.h"
#include "text/corpus.h"

namespace chargpt {

namespace {

/// The name of an invisible character, else "".
std::string shown_name(char32_t character) {
  if (const std::string_view name = name_of_invisible(character); !name.empty()) return std::string(name);
  if (is_control(character)) return "control character";
  return columns_of(character) == 0 ? "of no width" : "";
}

/// Counts from one pass over the characters of a text.
struct CharacterCounts {
  std::vector<std::int64_t> of_symbol;  ///< by id
  std::int64_t lf = 0, crlf = 0, cr = 0;
  bool ends_in_line = false;  ///< the last line has no line end
  std::int64_t lines() const { return lf + crlf + cr + (ends_in_line ? 1 : 0); }
};

CharacterCounts count(const Corpus& corpus) {
  const Vocabulary& vocabulary = corpus.vocabulary();
  CharacterCounts counts;
  counts.of_symbol.resize(static_cast<std::size_t>(vocabulary.size()));
  std::vector<char32_t> characters;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    characters.push_back(decode_character(vocabulary.symbol(id)).code_point);
  char32_t before = 0;
  const TokenView text = corpus.all();
  for (std::int64_t i = 0; i < text.size(); ++i) {
    const auto id = static_cast<std::size_t>(text[i]);
    ++counts.of_symbol[id];
    const char32_t character = characters[id];
    if (character == '\n') before == '\r' ? ++counts.crlf, --counts.cr : ++counts.lf;
    if (character == '\r') ++counts.cr;
    before = character;
  }
  counts.ends_in_line = before != '\n' && before != '\r';
  return counts;
}

/// "LF", "CRLF", "CR", "none", or "mixed: 10 LF, 2 CRLF".
std::string line_ends(const CharacterCounts& counts) {
  std::vector<std::string> kinds, with_counts;
  for (const auto& [name, number] :
       {std::pair("LF", counts.lf), std::pair("CRLF", counts.crlf), std::pair("CR", counts.cr)}) {
    if (number == 0) continue;
    kinds.emplace_back(name);
    with_counts.push_back(format_count(number) + " " + name);
  }
  return kinds.empty() ? "none" : kinds.size() == 1 ? kinds[0] : "mixed: " + joined(with_counts, ", ");
}

/// The symbols and their counts, most frequent first.
Json symbol_counts(const Corpus& corpus, const CharacterCounts& counts) {
  std::vector<std::int64_t> ids(counts.of_symbol.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto number_of = [&](std::int64_t id) { return counts.of_symbol[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) { return number_of(a) > number_of(b); });
  Json symbols = Json::array();
  for (const std::int64_t id : ids) {
    const std::string symbol = corpus.vocabulary().symbol(id);
    const char32_t character = decode_character(symbol).code_point;
    const double share = static_cast<double>(number_of(id)) / static_cast<double>(corpus.all().size());
    Json row = {
        {"symbol", symbol}, {"code_point", code_point_name(character)}, {"count", number_of(id)}, {"share", share}};
    if (const std::string name = shown_name(character); !name.empty()) row["name"] = name;
    symbols.push_back(row);
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
  report.add(
      table_of(symbols, {{"symbol", as_is("code_point")},
                         {"", [](const Json& row) { return row.value("name", row["symbol"].get<std::string>()); }},
                         {"count", as_is("count")},
                         {"share", percent("share", 2)}}));
  if (rarer > 0)
    report.say("and " + format_count(static_cast<std::int64_t>(rarer), "rarer symbol") + "; --all lists them\n");
}

Json describe_text(const std::string& path, const OutputArguments& output) {
  DataConfig data;
  data.text = {path};
  tell_terminal(data.text);
  const Corpus corpus = load_corpus(data, std::nullopt, reading_progress(output));
  const CharacterCounts counts = count(corpus);
  Json json = {{"kind", "text"},
               {"path", path},
               {"file_count", corpus.files()},
               {"characters", corpus.all().size()},
               {"vocab_size", corpus.vocabulary().size()},
               {"train", corpus.train().size()},
               {"val", corpus.val().size()},
               {"notices", corpus.notices()},
               {"lines", counts.lines()},
               {"line_ends", line_ends(counts)},
               {"symbol_counts", symbol_counts(corpus, counts)},
               {"split_check", nullptr},
               {"val_tokens_in_train", nullptr},
               {"baselines", nullptr}};
  const auto check = check_split(corpus);
  if (check) json["split_check"] = to_json(*check);
  if (const std::string notice = split_notice(corpus, check); !notice.empty()) json["notices"].push_back(notice);
  if (corpus.val().size() < 2) return json;
  WorkLine line(output);
  const Baselines baselines =
      compute_baselines(corpus, corpus.val(), {.length = corpus.val().size()}, line.heartbeat("measuring baselines"));
  json["val_tokens_in_train"] = baselines.shared;
  json["baselines"] = to_json(baselines);
  return json;
}

}  // namespace

Report report_of_text(const std::string& path, const OutputArguments& output, bool all) {
  Report report(describe_text(path, output));
  const Json& json = report.json;
  Table table;
  table.add({"text", json["path"]});
  if (json["file_count"] > 1) table.add({"files", format_count(json["file_count"])});
  table.add({"characters", format_count(json["characters"]) + " (" + format_count(json["vocab_size"]) + " different)"});
  table.add({"lines", format_count(json["lines"]) + ", line ends: " + json["line_ends"].get<std::string>()});
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
