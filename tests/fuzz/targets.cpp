#include "targets.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/state_json.h"
#include "checkpoint/strict_json.h"
#include "config/load.h"
#include "report/escape.h"
#include "report/metrics.h"
#include "text/corpus.h"

namespace chargpt {
namespace {

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// Calls `read`; an Error is an answer, if it is one line that a terminal can show.
template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string line = error.what();
    promise(!line.empty() && line.find('\n') == std::string::npos, "a message is one line");
    promise(escape_for_terminal(line) == line, "a message holds nothing that a terminal obeys");
  }
}

std::string written(const SafetensorsFile& file) {
  std::string bytes;
  write_safetensors(
      [&bytes](std::span<const std::byte> piece) {
        bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      },
      file.tensors(), file.metadata());
  return bytes;
}

SafetensorsFile parsed(std::string_view bytes) {
  return {std::as_bytes(std::span(bytes)), "model.safetensors"};
}

void read_safetensors(std::string_view bytes) {
  attempt([&] {
    const SafetensorsFile file = parsed(bytes);
    for (const TensorView& tensor : file.tensors()) {
      promise(file.find(tensor.name) == &tensor, "a tensor is found by its name");
      promise(tensor.bytes.size() <= bytes.size(), "a tensor lies in the file");
    }
    const std::string again = written(file);
    promise(written(parsed(again)) == again, "tensors come back from what is written");
  });
}

void read_manifest_text(std::string_view bytes) {
  attempt([&] {
    const Manifest manifest = parse_manifest(bytes, "MANIFEST.json");
    promise(parse_manifest(manifest_text(manifest), "again") == manifest, "a manifest comes back from its text");
  });
}

RunState state_from(std::string_view text) {
  return run_state_from_json(parse_strict_json(text, "state.json"), "state.json");
}

/// As a checkpoint's files are written.
std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void read_state_text(std::string_view bytes) {
  attempt([&] {
    const std::string text = dumped(to_json(state_from(bytes)));
    promise(dumped(to_json(state_from(text))) == text, "a state comes back from its text");
  });
}

void read_vocabulary_text(std::string_view bytes) {
  attempt([&] {
    const Vocabulary vocabulary = Vocabulary::from_json(parse_strict_json(bytes, "vocab.json"), "vocab.json");
    promise(Vocabulary::from_json(vocabulary.to_json(), "again") == vocabulary, "a vocabulary comes back");
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < vocabulary.size(); ++id) ids.push_back(id);
    promise(vocabulary.encode(vocabulary.decode(ids), "symbols") == ids, "symbols have the ids they came from");
  });
}

void read_config_text(std::string_view bytes) {
  attempt([&] {
    const ResolvedConfig config = parse_config(bytes, "config.json", "/nonexistent");
    const std::string text = dumped(to_json(config));
    promise(dumped(to_json(parse_config(text, "again", "/nonexistent"))) == text, "a config comes back from its text");
  });
}

/// First byte: the step that a run is resumed from.
void read_metrics_text(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::int64_t step = static_cast<unsigned char>(bytes[0]);
  attempt([&] {
    const std::string kept = rows_up_to(std::string(bytes.substr(1)), step);
    promise(rows_up_to(kept, step) == kept, "rows that are kept are kept again");
    promise(kept.empty() || kept.back() == '\n', "rows that are kept are whole lines");
  });
}

/// First byte: characters or bytes.
void read_text(std::string_view bytes) {
  if (bytes.empty()) return;
  attempt([&] {
    DataConfig data;
    data.units = bytes[0] % 2 == 0 ? Units::characters : Units::bytes;
    const Corpus corpus = corpus_from_text(bytes.substr(1), data, "text.txt");
    const TokenView all = corpus.all();
    std::vector<std::int64_t> ids(static_cast<std::size_t>(all.size()));
    for (std::int64_t i = 0; i < all.size(); ++i) ids[static_cast<std::size_t>(i)] = all[i];
    const std::string text = corpus.vocabulary().decode(ids);
    promise(bytes.ends_with(text), "a text comes back from its ids");
    promise(corpus.train().size() + corpus.val().size() == all.size(), "a split loses no character");
    promise(escape_for_terminal(text).find('\x1b') == std::string::npos, "escaped text holds no escape");
  });
}

constexpr std::array targets = {
    FuzzTarget{"safetensors", read_safetensors},
    FuzzTarget{"manifest", read_manifest_text},
    FuzzTarget{"state", read_state_text},
    FuzzTarget{"vocabulary", read_vocabulary_text},
    FuzzTarget{"config", read_config_text},
    FuzzTarget{"metrics", read_metrics_text},
    FuzzTarget{"text", read_text},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return targets;
}

}  // namespace chargpt
