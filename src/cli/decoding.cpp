#include "cli/decoding.h"

#include <algorithm>
#include <map>
#include <string>

namespace chargpt {

namespace {

const std::map<std::string, Context>& contexts() {
  static const std::map<std::string, Context> all{
      {"auto", Context::automatic}, {"full", Context::full}, {"half", Context::half}, {"slide", Context::slide}};
  return all;
}

}  // namespace

void add_context_option(Options& options, Context& context) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : contexts()) names.push_back(name);
  options.choice(
      "--context", names, "auto", [&context](const std::string& name) { context = contexts().at(name); },
      "what to do once the text outgrows block_size: full, run the last block_size characters again for each new one, "
      "as nanoGPT does; half, drop the first half of a full window and run the rest again, many times faster; "
      "slide, run nothing again (models with position rope or none); auto, slide if the model can, else half (full "
      "where block_size is under 32)");
}

void add_counts_option(Options& options, bool& counts) {
  options.flag(
      "--counts", counts,
      "mix the network with counts of what followed in its training text; with --adapt they go on to count what is "
      "scored");
}

void add_adapt_option(Options& options, bool& adapt) {
  options.flag(
      "--adapt", adapt,
      "let the network go on learning while it scores: each character is predicted first, then learned from; the "
      "run's weights stay as they are");
}

void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which) {
  options.choice(
      "--unknown", {"error", "skip", "replace"}, "error",
      [&policy](const std::string& name) {
        policy = name == "skip"      ? UnknownPolicy::skip
                 : name == "replace" ? UnknownPolicy::replace
                                     : UnknownPolicy::error;
      },
      "what to do with " + which + " that the model has never seen");
}

std::string context_name(Context context) {
  return std::ranges::find(contexts(), context, &std::map<std::string, Context>::value_type::second)->first;
}

}  // namespace chargpt
