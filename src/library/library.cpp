// The functions of chargpt.h: each calls the modules below and turns exceptions into a status and a message. Does not
// print or log.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/quote.h"
#include "config/describe.h"
#include "config/load.h"
#include "evaluate/split_loss.h"
#include "kernels/processor.h"
#include "library/chargpt.h"
#include "network/model.h"
#include "network/walk.h"
#include "predict/generate.h"
#include "predict/network.h"
#include "predict/stop.h"
#include "run/checkpoints.h"

using namespace chargpt;

/// Immutable for callers while it is open, so threads may share it.
struct chargpt_model {
  chargpt_model(const Checkpoint& from, Weights weights, int threads_)
      : state(from.state),
        vocabulary(from.vocabulary),
        sample(from.config.config.sample),
        inference(from, weights),
        threads(threads_),
        path(from.path.string()),
        config(to_json(from.config.config).dump(2)),
        notices(joined(from.notices, "\n")) {}

  const RunState state;
  const Vocabulary vocabulary;
  const SampleConfig sample;
  const InferenceModel inference;  ///< has its own copy of the weights
  const int threads;
  const std::string path, config, notices;

  /// A predictor for one call; concurrent calls get different ones. It returns to the pool for later calls.
  auto predictor() const {
    auto take_back = [this](NetworkPredictor* used) {
      const std::lock_guard lock(guard_);
      idle_.emplace_back(used);
    };
    const std::lock_guard lock(guard_);
    if (idle_.empty()) idle_.push_back(std::make_unique<NetworkPredictor>(inference, threads));
    std::unique_ptr<NetworkPredictor, decltype(take_back)> network(idle_.back().release(), take_back);
    idle_.pop_back();
    return network;
  }

 private:
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<NetworkPredictor>> idle_;
};

namespace {

thread_local std::string last_error;

template <class... Parts>
Error bad_argument(const Parts&... parts) {
  return {ExitCode::usage, parts...};
}

/// Runs `work` and turns exceptions into a status. Flushes denormals as chargpt's own threads do, so that results are
/// the same.
template <class Work>
int guarded(Work&& work) noexcept {
  const auto failed = [](ExitCode code, const char* line) {
    try {
      last_error = line;
    } catch (...) {
      last_error.clear();
    }
    return static_cast<int>(code);
  };
  try {
    const FlushedDenormals flushed;
    work();
    return CHARGPT_OK;
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::memory, "out of memory");
  } catch (const std::exception& error) {
    return failed(ExitCode::internal, error.what());
  } catch (...) {
    return failed(ExitCode::internal, "an exception of an unknown type");
  }
}

const chargpt_model& opened(const chargpt_model* model) {
  if (model == nullptr) throw bad_argument("the model is NULL; open one with chargpt_open");
  return *model;
}

/// Returns `read` of the model; for a NULL model returns `fact` and sets the error message.
template <class Fact, class Read>
Fact fact_of(const chargpt_model* model, Fact fact, Read&& read) {
  guarded([&] { fact = read(opened(model)); });
  return fact;
}

/// The caller's options, as far as its header defines them; defaults for the others.
template <class Options>
Options known(const Options* given, const Options& defaults) {
  Options options = defaults;
  if (given == nullptr) return options;
  if (given->size < sizeof(std::size_t))
    throw bad_argument("the options' size is ", given->size, "; set it to sizeof options");
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  return options;
}

/// Writes the options that the caller's header defines.
template <class Options>
void give(const Options& options, Options* to) {
  if (to == nullptr) throw bad_argument("options is NULL; give an address");
  const std::size_t size = known(to, options).size;
  std::memcpy(to, &options, std::min(size, sizeof options));
  to->size = size;
}

std::string_view text_of(const char* text, std::size_t length) {
  if (text == nullptr && length > 0) throw bad_argument("the text is NULL, but its length is ", length);
  return text == nullptr ? std::string_view() : std::string_view(text, length);
}

std::vector<std::int64_t> ids_of(const chargpt_model& model, const char* text, std::size_t length,
                                 chargpt_unknown unknown, const char* what) {
  if (unknown < CHARGPT_UNKNOWN_ERROR || unknown > CHARGPT_UNKNOWN_REPLACE)
    throw bad_argument("chargpt_unknown has no value ", static_cast<int>(unknown));
  std::optional<UnknownPolicy> policy;
  if (unknown != CHARGPT_UNKNOWN_ERROR) policy = static_cast<UnknownPolicy>(unknown);  // equal numbers in both
  return model.vocabulary.encode(text_of(text, length), what, policy);
}

/// Adds the start symbol to an empty prompt, and to every prompt of a model trained on documents.
std::vector<std::int64_t> prompt_of(const chargpt_model& model, std::vector<std::int64_t> ids) {
  if (ids.empty() || model.vocabulary.document() >= 0) ids.insert(ids.begin(), model.state.start_symbol);
  return ids;
}

/// The ids that the model sees: the last block_size of the prompt.
std::vector<std::int64_t> window_of(const chargpt_model& model, std::vector<std::int64_t> ids) {
  ids = prompt_of(model, std::move(ids));
  const auto more = std::ssize(ids) - model.inference.block_size();
  if (more > 0) ids.erase(ids.begin(), ids.begin() + more);
  return ids;
}

/// Throws Error usage if a buffer is given and smaller than `count` values.
void check_room(const void* to, std::size_t capacity, std::size_t count) {
  if (to != nullptr && count > capacity)
    throw bad_argument("the capacity is ", capacity, ", but there are ", count,
                       " values; pass a larger buffer, or NULL");
}

Weights weights_named(const char* name) {
  if (name == nullptr) return Weights::better;
  if (const std::optional<Weights> weights = enum_value<Weights>(name)) return *weights;
  throw bad_argument("weights = \"", name, "\" is not better, trained or averaged");
}

chargpt_model* open_model(const char* path, const chargpt_open_options& options) {
  if (path == nullptr) throw bad_argument("the path is NULL; pass a run folder");
  return new chargpt_model(load_checkpoint(path, options.checkpoint == nullptr ? "best" : options.checkpoint),
                           weights_named(options.weights), thread_count(options.threads));
}

chargpt_model* open_bytes(const void* bytes, std::size_t size, const chargpt_open_options& options) {
  if (bytes == nullptr) throw bad_argument("the bytes are NULL; pass those of a checkpoint file");
  return new chargpt_model(read_checkpoint(std::span(static_cast<const std::byte*>(bytes), size), "memory"),
                           weights_named(options.weights), thread_count(options.threads));
}

constexpr chargpt_open_options open_defaults = {
    .size = sizeof(chargpt_open_options), .checkpoint = nullptr, .weights = nullptr, .threads = 1};

chargpt_generate_options generate_defaults(const chargpt_model& model) {
  chargpt_generate_options options{};
  options.size = sizeof options;
  options.tokens = model.sample.tokens;
  options.temperature = model.sample.temperature;
  options.top_k = model.sample.top_k;
  options.top_p = model.sample.top_p;
  options.min_p = model.sample.min_p;
  options.seed = 1337;
  return options;
}

template <class Number>
void check_range(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return;
  const nlohmann::json lowest = least, highest = most;
  const std::string given = std::isfinite(value) ? nlohmann::json(value).dump() : line_of(value);  // JSON has no inf
  throw bad_argument(name, " = ", given, " is not between ", lowest.dump(), " and ", highest.dump());
}

SampleConfig sample_of(const chargpt_generate_options& options) {
  check_range<std::int64_t>("tokens", options.tokens, 0, 1'000'000'000'000);
  check_range("temperature", options.temperature, 0.0, 1000.0);
  check_range<std::int64_t>("top_k", options.top_k, 0, 1'000'000'000);
  check_range("top_p", options.top_p, 0.0, 1.0);
  check_range("min_p", options.min_p, 0.0, 1.0);
  check_range<std::int64_t>("sample", options.sample, 0, 1'000'000'000'000);
  return {.tokens = options.tokens,
          .temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p};
}

std::vector<std::string> stops_of(const chargpt_generate_options& options) {
  const std::span given(options.stops, options.stops == nullptr ? 0 : options.stop_count);
  if (given.size() < options.stop_count || std::ranges::count(given, nullptr) > 0)
    throw bad_argument("a stop string is NULL");
  return {given.begin(), given.end()};
}

void generate_text(const chargpt_model& model, const chargpt_generate_options& options, chargpt_on_text on_text,
                   void* context) {
  if (on_text == nullptr) throw bad_argument("on_text is NULL; give a function");
  const SampleConfig sample = sample_of(options);
  const std::vector<std::int64_t> prompt =
      prompt_of(model, ids_of(model, options.prompt, options.prompt_length, options.unknown, "the prompt"));
  StopMatcher stops(stops_of(options));
  bool wanted = true;
  const auto give_text = [&](const std::string& piece) {
    if (wanted && !piece.empty()) wanted = on_text(context, piece.data(), piece.size()) == 0;
  };
  const auto predictor = model.predictor();
  generate(
      *predictor, prompt, sample, options.seed,
      [&](std::int64_t /*index*/, std::int64_t id) {
        if (id == model.vocabulary.document()) return false;
        give_text(stops.add(model.vocabulary.symbol(id)));
        return wanted && !stops.stopped();
      },
      options.sample);
  give_text(stops.finish());
}

}  // namespace

const char* chargpt_version() {
  return CHARGPT_VERSION;
}

int chargpt_abi() {
  return CHARGPT_ABI;
}

const char* chargpt_last_error() {
  return last_error.c_str();
}

int chargpt_open_defaults(chargpt_open_options* options) {
  return guarded([&] { give(open_defaults, options); });
}

int chargpt_open(const char* path, const chargpt_open_options* options, chargpt_model** model) {
  return guarded([&] {
    if (model == nullptr) throw bad_argument("model is NULL; give an address");
    *model = open_model(path, known(options, open_defaults));
  });
}

int chargpt_open_memory(const void* bytes, size_t size, const chargpt_open_options* options, chargpt_model** model) {
  return guarded([&] {
    if (model == nullptr) throw bad_argument("model is NULL; give an address");
    *model = open_bytes(bytes, size, known(options, open_defaults));
  });
}

void chargpt_close(chargpt_model* model) {
  delete model;
}

const char* chargpt_checkpoint(const chargpt_model* model) {
  return fact_of(model, "", [](const chargpt_model& whole) { return whole.path.c_str(); });
}

const char* chargpt_config(const chargpt_model* model) {
  return fact_of(model, "", [](const chargpt_model& whole) { return whole.config.c_str(); });
}

const char* chargpt_notices(const chargpt_model* model) {
  return fact_of(model, "", [](const chargpt_model& whole) { return whole.notices.c_str(); });
}

std::int64_t chargpt_step(const chargpt_model* model) {
  return fact_of(model, std::int64_t{0}, [](const chargpt_model& whole) { return whole.state.step; });
}

std::int64_t chargpt_parameters(const chargpt_model* model) {
  return fact_of(model, std::int64_t{0}, [](const chargpt_model& whole) { return whole.state.parameters; });
}

std::int64_t chargpt_block_size(const chargpt_model* model) {
  return fact_of(model, std::int64_t{0}, [](const chargpt_model& whole) { return whole.inference.block_size(); });
}

std::int64_t chargpt_vocabulary_size(const chargpt_model* model) {
  return fact_of(model, std::int64_t{0}, [](const chargpt_model& whole) { return whole.inference.vocab_size(); });
}

std::int64_t chargpt_start_symbol(const chargpt_model* model) {
  return fact_of(model, std::int64_t{0}, [](const chargpt_model& whole) { return whole.state.start_symbol; });
}

int chargpt_symbol(const chargpt_model* model, std::int64_t id, char text[4], std::size_t* length) {
  return guarded([&] {
    const std::int64_t size = opened(model).inference.vocab_size();
    if (id < 0 || id >= size) throw bad_argument("id ", id, " is not between 0 and ", size - 1);
    if (text == nullptr || length == nullptr) throw bad_argument("text or length is NULL; give addresses");
    const std::string symbol = model->vocabulary.symbol(id);
    std::ranges::copy(symbol, text);
    *length = symbol.size();
  });
}

int chargpt_encode(const chargpt_model* model, const char* text, std::size_t length, chargpt_unknown unknown,
                   std::int64_t* ids, std::size_t capacity, std::size_t* count) {
  return guarded([&] {
    if (count == nullptr) throw bad_argument("count is NULL; give an address");
    const std::vector<std::int64_t> all = ids_of(opened(model), text, length, unknown, "the text");
    *count = all.size();
    check_room(ids, capacity, all.size());
    if (ids != nullptr) std::ranges::copy(all, ids);
  });
}

int chargpt_generate_defaults(const chargpt_model* model, chargpt_generate_options* options) {
  return guarded([&] { give(generate_defaults(opened(model)), options); });
}

int chargpt_generate(const chargpt_model* model, const chargpt_generate_options* options, chargpt_on_text on_text,
                     void* context) {
  return guarded([&] {
    const chargpt_model& whole = opened(model);
    generate_text(whole, known(options, generate_defaults(whole)), on_text, context);
  });
}

int chargpt_score(const chargpt_model* model, const char* text, std::size_t length, chargpt_unknown unknown,
                  float* losses, std::size_t capacity, std::size_t* count) {
  return guarded([&] {
    if (count == nullptr) throw bad_argument("count is NULL; give an address");
    const auto ids = prompt_of(opened(model), ids_of(opened(model), text, length, unknown, "the text"));
    *count = ids.size() - 1;
    check_room(losses, capacity, *count);
    if (losses == nullptr || *count == 0) return;
    const auto predictor = model->predictor();
    const std::int64_t block_size = predictor->block_size();
    const std::vector<std::uint32_t> tokens(ids.begin(), ids.end());
    const TokenView view(tokens.data(), sizeof tokens[0], std::ssize(tokens));
    std::ranges::copy(split_loss(*predictor, view, block_size, half_window(block_size)).losses, losses);
  });
}

int chargpt_logits(const chargpt_model* model, const char* text, std::size_t length, chargpt_unknown unknown,
                   float* logits, std::size_t capacity) {
  return guarded([&] {
    const auto V = static_cast<std::size_t>(opened(model).inference.vocab_size());
    if (logits == nullptr || capacity < V)
      throw bad_argument("the capacity is ", logits == nullptr ? 0 : capacity, " logits, but the model has ", V,
                         " symbols");
    const auto predictor = model->predictor();
    std::copy_n(predictor->start(prompt_of(*model, ids_of(*model, text, length, unknown, "the text")), 1).first, V,
                logits);
  });
}

int chargpt_logits_of_ids(const chargpt_model* model, const std::int64_t* ids, std::size_t count, float* logits,
                          std::size_t capacity) {
  return guarded([&] {
    const InferenceModel& network = opened(model).inference;
    const std::int64_t V = network.vocab_size();
    check_range<std::int64_t>("count", static_cast<std::int64_t>(count), 1, network.block_size());
    if (ids == nullptr) throw bad_argument("the ids are NULL");
    for (const std::int64_t id : std::span(ids, count)) check_range<std::int64_t>("an id", id, 0, V - 1);
    if (logits == nullptr || capacity / static_cast<std::size_t>(V) < count)
      throw bad_argument("the capacity is below the logits of ", count, " ids, ", V, " for each");
    std::vector<std::int32_t> tokens(ids, ids + count);
    tokens.push_back(0);  // the last target, which no logit depends on
    const std::int64_t first = 0, T = std::ssize(tokens) - 1;
    const auto predictor = model->predictor();
    predictor->logits({{tokens.data(), sizeof tokens[0], T + 1, model->vocabulary.document()}, {&first, 1}, T},
                      {logits, count * static_cast<std::size_t>(V)});
  });
}

int chargpt_attention(const chargpt_model* model, const char* text, std::size_t length, chargpt_unknown unknown,
                      float* weights, std::size_t capacity, std::int64_t* layers, std::int64_t* heads,
                      std::int64_t* T) {
  return guarded([&] {
    if (layers == nullptr || heads == nullptr || T == nullptr)
      throw bad_argument("layers, heads or T is NULL; give an address");
    const chargpt_model& whole = opened(model);
    const AttentionWeights all =
        attention_weights(whole.inference, window_of(whole, ids_of(whole, text, length, unknown, "the text")));
    *layers = all.layers;
    *heads = all.heads;
    *T = all.T;
    check_room(weights, capacity, all.values.size());
    if (weights != nullptr) std::ranges::copy(all.values, weights);
  });
}
