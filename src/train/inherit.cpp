#include "train/inherit.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/names.h"
#include "config/describe.h"
#include "config/load.h"
#include "network/model.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"

namespace chargpt {
namespace {

/// Ids of the symbols that both vocabularies have: (here, there).
using SharedSymbols = std::vector<std::pair<std::int64_t, std::int64_t>>;

SharedSymbols match_symbols(const Vocabulary& here, const Vocabulary& there, const std::string& source) {
  if (here.units() != there.units())
    throw Error(ExitCode::data, source, " was trained on ", enum_name(there.units()), " and data.units is ",
                enum_name(here.units()), "; use the same units");
  std::map<std::string, std::int64_t> ids;
  for (std::int64_t id = 0; id < there.size(); ++id) ids[there.symbol(id)] = id;
  SharedSymbols shared;
  for (std::int64_t id = 0; id < here.size(); ++id)
    if (const auto found = ids.find(here.symbol(id)); found != ids.end()) shared.emplace_back(id, found->second);
  if (shared.empty())
    throw Error(ExitCode::data, source, " shares no symbol with this text; start a new run without --init_from");
  return shared;
}

}  // namespace

std::string inherit_weights(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                            const Checkpoint& from) {
  const Weights which = chosen_weights(from, Weights::better);
  const SharedSymbols symbols = match_symbols(vocabulary, from.vocabulary, from.path.string());
  try {
    ParameterArena there(parameter_list(config.model, from.vocabulary.size()), config.model.decay, config.train);
    read_weights(there.parameters(), which == Weights::averaged ? from.averaged : from.model, from.path.string(),
                 there.values.data());
    const SharedSymbols whole{{0, 0}};  // treat other parameters as one row
    for (std::size_t i = 0; i < arena.parameters().size(); ++i) {
      const Parameter& own = arena.parameters()[i];
      const std::int64_t width = own.numel() / (own.counts_symbols ? own.shape[0] : 1);
      const float* const values = there.parameters()[i].at(there.values.data());
      for (const auto& [to, row] : own.counts_symbols ? symbols : whole)
        std::copy_n(values + row * width, width, own.at(arena.values.data()) + to * width);
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::data) throw;
    const std::string differing = joined(changed_options(from.config.config, config, "model"), ", ");
    throw Error(ExitCode::data, error.what(), "; --init_from needs the same model",
                differing.empty() ? "" : "; options that differ: " + differing);
  }
  const std::size_t forgotten = static_cast<std::size_t>(from.vocabulary.size()) - symbols.size();
  return line_of(which == Weights::averaged ? "averaged weights from " : "weights from ", from.path.string(),
                 ", which knows ", symbols.size(), " of the text's ", vocabulary.size(), " symbols",
                 forgotten == 0 ? "" : "; " + std::to_string(forgotten) + " that the text lacks are left out");
}

std::string foreign_text(const Checkpoint& other, const Config& config, const Corpus& corpus) {
  const char* const so = ": if that holds what is held out here, validation losses are too low";
  const Fingerprint &its = other.state.data, &own = corpus.fingerprint();
  if (its == Fingerprint{}) return line_of("was imported without its text", so);
  const std::string difference =
      text_difference({other.config.config.data, other.vocabulary, its}, {config.data, corpus.vocabulary(), own});
  const std::string kept = kept_caution(other.path);
  if (difference.empty()) return kept.empty() ? "" : "has a caution of its own: " + kept;
  return line_of("was trained on another ", its == own ? "part of this text (" : "text (", difference, ")", so);
}

}  // namespace chargpt
