#include "targets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "config/describe.h"
#include "config/load.h"
#include "exchange/huggingface.h"
#include "network/layers.h"
#include "promise.h"
#include "report/files/metrics.h"
#include "report/terminal.h"
#include "run/checkpoint.h"
#include "run/safetensors.h"
#include "run/strict_json.h"
#include "scratch_run.h"
#include "text/corpus.h"

namespace chargpt {
namespace {

const ScratchRun& scratch_run() {
  static const ScratchRun run;
  return run;
}

SafetensorsFile parsed(std::string_view bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "model.safetensors");
}

void read_safetensors(std::string_view bytes) {
  const bool read = attempt([&] {
    const SafetensorsFile file = parsed(bytes);
    for (const TensorView& tensor : file.tensors) {
      promise(find_tensor(file.tensors, tensor.name) == &tensor, "a tensor is found by its name");
      promise(tensor.bytes.size() <= bytes.size(), "a tensor lies in the file");
    }
    const std::string again = safetensors_bytes(file.tensors, file.metadata);
    const SafetensorsFile back = parsed(again);
    promise(safetensors_bytes(back.tensors, back.metadata) == again, "tensors come back from what is written");
  });
  if (read) scratch_run().open_with(bytes);
}

RunState state_from(std::string_view text) {
  return run_state_from_json(parse_strict_json(text, "state.json"), "state.json");
}

/// As a checkpoint's files are written.
std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void read_state_text(std::string_view bytes) {
  const bool read = attempt([&] {
    const std::string text = dumped(to_json(state_from(bytes)));
    promise(dumped(to_json(state_from(text))) == text, "a state comes back from its text");
  });
  if (read) scratch_run().open_with_field("state", bytes);
}

void read_vocabulary_text(std::string_view bytes) {
  const bool read = attempt([&] {
    const Vocabulary vocabulary = Vocabulary::from_json(parse_strict_json(bytes, "vocab.json"), "vocab.json");
    promise(Vocabulary::from_json(vocabulary.to_json(), "again") == vocabulary, "a vocabulary comes back");
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < vocabulary.size(); ++id) ids.push_back(id);
    promise(vocabulary.encode(vocabulary.decode(ids), "symbols") == ids, "symbols have the ids they came from");
    for (const char32_t symbol : vocabulary.code_points()) promise_fit_for_people(describe_character(symbol));
  });
  if (read) scratch_run().open_with_field("vocabulary", bytes);
}

/// Every option as a flag, over the defaults.
void apply_as_flags(const ResolvedConfig& config) {
  std::vector<Override> flags;
  const nlohmann::ordered_json json = to_json(config.config);
  for (const auto& [section, options] : json.items()) {
    if (!options.is_object()) continue;
    for (const auto& [key, value] : options.items())
      flags.push_back({section + "." + key, value.is_string() ? value.get<std::string>() : dumped(value), "--" + key});
  }
  ResolvedConfig defaults;
  apply_overrides(defaults, flags);
}

/// As `chargpt train FILE` reads it, what it extends included.
void read_config_file(std::string_view bytes) {
  attempt([&] { apply_as_flags(load_config(scratch_run().file("config.json", bytes).string())); });
}

void read_config_text(std::string_view bytes) {
  const bool read = attempt([&] {
    const ResolvedConfig config = parse_config(bytes, "config.json", "/nonexistent");
    const std::string text = dumped(to_json(config));
    promise(dumped(to_json(parse_config(text, "again", "/nonexistent"))) == text, "a config comes back from its text");
  });
  if (bytes.find("extends") != std::string_view::npos) read_config_file(bytes);
  if (!read) return;
  read_config_file(bytes);
  scratch_run().open_with_field("config", bytes);
}

/// First byte: the step that a run is resumed from.
void read_metrics_text(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::int64_t step = static_cast<unsigned char>(bytes[0]);
  attempt([&] {
    const std::string kept = rows_up_to(std::string(bytes.substr(1)), step);
    promise(rows_up_to(kept, step) == kept, "rows that are kept are kept again");
    promise(kept.empty() || kept.back() == '\n', "rows that are kept are whole lines");
    const std::string resumed = scratch_run().metrics_resumed(bytes.substr(1), step);
    promise(resumed.starts_with(kept), "what is kept stands before what is new");
    promise(rows_up_to(resumed, step + 1) == resumed, "all that is written is rows");
    promise(std::count(resumed.begin() + std::ssize(kept), resumed.end(), '\n') == 5, "each event is one line");
  });
}

std::vector<std::int64_t> ids_of(TokenView view) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(view.size()));
  for (std::int64_t i = 0; i < view.size(); ++i) ids[static_cast<std::size_t>(i)] = view[i];
  return ids;
}

/// The same text as a file.
void read_as_file(std::string_view text, DataConfig data, const Corpus& expected) {
  data.text = {scratch_run().file("text.txt", text).string()};
  const Corpus corpus = load_corpus(data);
  promise(corpus.fingerprint() == expected.fingerprint(), "a text has one fingerprint, however it is read");
  promise(corpus.vocabulary() == expected.vocabulary(), "a text has one vocabulary, however it is read");
  attempt([&] { load_corpus(data, Vocabulary::of_characters({U'\n', U' ', U'a', U'e'})); });
}

/// First byte: characters or bytes, in memory alone or (much slower) as a file too, any symbols or few.
void read_text(std::string_view bytes) {
  if (bytes.empty()) return;
  attempt([&] {
    DataConfig data;
    data.units = bytes[0] % 2 == 0 ? Units::characters : Units::bytes;
    if ((bytes[0] & 4) != 0) data.max_symbols = 9;
    const Corpus corpus = corpus_from_text(bytes.substr(1), data, "text.txt");
    const std::string text = corpus.vocabulary().decode(ids_of(corpus.all()));
    promise(bytes.ends_with(text), "a text comes back from its ids");
    promise(corpus.train().size() + corpus.val().size() == corpus.all().size(), "a split loses no character");
    promise(escape_for_terminal(text).find('\x1b') == std::string::npos, "escaped text holds no escape");
    attempt([&] { check_splits(corpus, 8); });
    if ((bytes[0] & 2) != 0) read_as_file(bytes.substr(1), data, corpus);
  });
}

/// Every parameter that the options ask for, and no other, in its shape, of finite numbers.
void promise_whole(const ImportedModel& model) {
  const std::vector<Parameter> list = parameter_list(model.config.config.model, model.vocabulary.size());
  promise(list.size() == model.parameters.size(), "an imported model has the parameters of its options");
  for (const Parameter& info : list) {
    const auto found = std::ranges::find(model.parameters, info.name, &OwnTensor::name);
    promise(found != model.parameters.end() && found->shape == info.shape, "a parameter has its shape");
    promise(std::ranges::all_of(found->values, [](float value) { return std::isfinite(value); }), "numbers are finite");
  }
  for (const std::string& notice : model.notices) promise_fit_for_people(notice);
}

/// Three files, one after the other behind NUL bytes: config.json, tokenizer.json and model.safetensors.
void read_foreign_model(std::string_view bytes) {
  const std::size_t first = bytes.find('\0'), second = bytes.find('\0', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return;
  scratch_run().file("config.json", bytes.substr(0, first));
  scratch_run().file("tokenizer.json", bytes.substr(first + 1, second - first - 1));
  scratch_run().file("model.safetensors", bytes.substr(second + 1));
  attempt([&] { promise_whole(read_huggingface(scratch_run().path())); });
}

constexpr std::array targets = {
    FuzzTarget{"safetensors", read_safetensors},
    FuzzTarget{"state", read_state_text},
    FuzzTarget{"vocabulary", read_vocabulary_text},
    FuzzTarget{"config", read_config_text},
    FuzzTarget{"metrics", read_metrics_text},
    FuzzTarget{"exchange", read_foreign_model},
    FuzzTarget{"text", read_text},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return targets;
}

}  // namespace chargpt
