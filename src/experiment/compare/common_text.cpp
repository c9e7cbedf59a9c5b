#include "experiment/compare/common_text.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "config/changed_options.h"
#include "text/text_place.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

bool same_text(const Corpus& a, const Corpus& b) {
  return a.fingerprint() == b.fingerprint() && a.vocabulary() == b.vocabulary() && a.train().size() == b.train().size();
}

/// The text where the config names it, or where a run of this comparison found it before; what is piped in is another
/// each time.
Corpus load_text(const DataConfig& data, const fs::path& out, const ReadingProgress& reading) {
  std::error_code ignored;
  const bool piped = std::ranges::any_of(
      data.text, [&](const std::string& name) { return name == standard_input_name || fs::is_other(name, ignored); });
  for (const fs::directory_entry& run : fs::directory_iterator(piped ? fs::path() : out, ignored))
    if (auto places = text_places(data.text, data.units, run.path()); !places.empty())
      return load_listed(std::move(places.front()), data, std::nullopt, reading);
  return load_corpus(data, std::nullopt, reading);
}

}  // namespace

Corpus load_common_text(const std::vector<ResolvedConfig>& configs, const fs::path& out,
                        const ReadingProgress& reading) {
  const Config& first = configs.front().config;
  Corpus corpus = load_text(first.data, out, reading);
  for (const ResolvedConfig& resolved : configs) {
    if (changed_options(first, resolved.config, "data").empty()) continue;
    if (!same_text(corpus, load_text(resolved.config.data, out, reading)))
      throw Error(ExitCode::usage, "configs " + first.name + " and " + resolved.config.name +
                                       " differ in their text (" +
                                       changed_options(first, resolved.config, "data").front() +
                                       "); losses compare only on one text, in the same units and split");
  }
  return corpus;
}

}  // namespace chargpt
