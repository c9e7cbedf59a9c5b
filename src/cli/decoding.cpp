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

const std::map<std::string, Storage>& storages() {
  static const std::map<std::string, Storage> all{{"float32", Storage::float32}, {"bfloat16", Storage::bfloat16}};
  return all;
}

/// An option whose value is one of the names of `all`.
template <class Value>
void add_choice(Options& options, const char* option, Value& value, const std::map<std::string, Value>& all,
                const char* default_name, const char* help) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : all) names.push_back(name);
  options.choice(
      option, names, default_name, [&value, &all](const std::string& name) { value = all.at(name); }, help);
}

template <class Value>
std::string name_of(Value value, const std::map<std::string, Value>& all) {
  return std::ranges::find(all, value, &std::map<std::string, Value>::value_type::second)->first;
}

}  // namespace

void add_storage_option(Options& options, Storage& storage) {
  add_choice(
      options, "--storage", storage, storages(), "float32",
      "type that matrices are rounded to and kept in: bfloat16 is read in half the time; arithmetic stays float32");
}

void add_context_option(Options& options, Context& context) {
  add_choice(
      options, "--context", context, contexts(), "auto",
      "what to do once the text outgrows block_size: full, run the last block_size characters again for each new one, "
      "as nanoGPT does; half, drop the first half of a full window and run the rest again, many times faster; "
      "slide, run nothing again (models with position rope or none); auto, slide if the model can, else half (full "
      "where block_size is under 32)");
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
  return name_of(context, contexts());
}

std::string storage_name(Storage storage) {
  return name_of(storage, storages());
}

}  // namespace chargpt
