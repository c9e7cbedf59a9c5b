// C++ interface to trained chargpt models: open, inspect, sample and score them. A wrapper of chargpt.h, which
// documents each function; here errors are exceptions, and texts and arrays are types of the standard library.
//
//   chargpt::Model model("runs/default-1");
//   chargpt::GenerateOptions options;
//   options.prompt = "ROMEO:";
//   std::cout << model.generate(options);
#ifndef CHARGPT_HPP
#define CHARGPT_HPP

#include <chargpt.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {
inline namespace abi_1 {

/// A one-line message with a status of chargpt.h.
class Error : public std::runtime_error {
 public:
  Error(int status, const std::string& line) : std::runtime_error(line), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

enum class Unknown { error = CHARGPT_UNKNOWN_ERROR, skip = CHARGPT_UNKNOWN_SKIP, replace = CHARGPT_UNKNOWN_REPLACE };

struct OpenOptions {
  std::string checkpoint = "best";  ///< "best", "last" or "step-N"
  std::string weights = "better";   ///< "better", "trained" or "averaged"
  int threads = 1;                  ///< of each call; 0: one per core
};

/// Options that are not set are the run's own.
struct GenerateOptions {
  std::string prompt{};
  std::optional<std::int64_t> tokens{}, top_k{};
  std::optional<double> temperature{}, top_p{}, min_p{};
  std::uint64_t seed = 1337;
  std::int64_t sample = 0;
  std::vector<std::string> stops{};
  Unknown unknown = Unknown::error;
};

/// Attention weights of one window of T characters; values: (layers, heads, T, T).
struct Attention {
  std::int64_t layers = 0, heads = 0, T = 0;
  std::vector<float> values;
};

/// Receives each piece of generated text; returns false to stop. generate() rethrows its exceptions.
using OnText = std::function<bool(std::string_view piece)>;

class Model {
 public:
  explicit Model(const std::string& path, const OpenOptions& options = {})
      : Model(options, [&](const chargpt_open_options* given, chargpt_model** model) {
          return chargpt_open(path.c_str(), given, model);
        }) {}
  /// Opens a model from the bytes of a checkpoint file, which are copied.
  static Model of_bytes(std::string_view bytes, const OpenOptions& options = {}) {
    return {options, [&](const chargpt_open_options* given, chargpt_model** model) {
              return chargpt_open_memory(bytes.data(), bytes.size(), given, model);
            }};
  }

  std::string checkpoint() const { return chargpt_checkpoint(get()); }
  std::string config() const { return chargpt_config(get()); }
  std::string notices() const { return chargpt_notices(get()); }
  std::int64_t step() const { return chargpt_step(get()); }
  std::int64_t parameters() const { return chargpt_parameters(get()); }
  std::int64_t block_size() const { return chargpt_block_size(get()); }
  std::int64_t vocabulary_size() const { return chargpt_vocabulary_size(get()); }
  std::int64_t start_symbol() const { return chargpt_start_symbol(get()); }

  std::string symbol(std::int64_t id) const {
    char text[4];
    std::size_t length = 0;
    check(chargpt_symbol(get(), id, text, &length));
    return {text, length};
  }

  std::vector<std::int64_t> encode(std::string_view text, Unknown unknown = Unknown::error) const {
    return for_each_character<std::int64_t>(chargpt_encode, text, unknown);
  }

  void generate(const GenerateOptions& options, const OnText& on_text) const {
    std::vector<const char*> stops;
    for (const std::string& stop : options.stops) {
      if (stop.find('\0') != std::string::npos) throw Error(CHARGPT_USAGE, "a stop string contains a null character");
      stops.push_back(stop.c_str());
    }
    chargpt_generate_options given{};
    given.size = sizeof given;
    check(chargpt_generate_defaults(get(), &given));
    given.prompt = options.prompt.data();
    given.prompt_length = options.prompt.size();
    given.unknown = policy(options.unknown);
    given.tokens = options.tokens.value_or(given.tokens);
    given.temperature = options.temperature.value_or(given.temperature);
    given.top_k = options.top_k.value_or(given.top_k);
    given.top_p = options.top_p.value_or(given.top_p);
    given.min_p = options.min_p.value_or(given.min_p);
    given.seed = options.seed;
    given.sample = options.sample;
    given.stops = stops.data();
    given.stop_count = stops.size();
    Call call{on_text, nullptr};
    const int status = chargpt_generate(get(), &given, &Call::give, &call);
    if (call.thrown) std::rethrow_exception(call.thrown);
    check(status);
  }

  /// Returns the whole text, without the prompt.
  std::string generate(const GenerateOptions& options) const {
    std::string text;
    generate(options, [&text](std::string_view piece) {
      text += piece;
      return true;
    });
    return text;
  }

  /// Losses (nats) of the characters from the second on; in a model trained on documents also of the first.
  std::vector<float> score(std::string_view text, Unknown unknown = Unknown::error) const {
    return for_each_character<float>(chargpt_score, text, unknown);
  }

  /// Logits (V) of the symbol that follows a text.
  std::vector<float> logits(std::string_view text, Unknown unknown = Unknown::error) const {
    std::vector<float> logits(static_cast<std::size_t>(vocabulary_size()));
    check(chargpt_logits(get(), text.data(), text.size(), policy(unknown), logits.data(), logits.size()));
    return logits;
  }

  /// Logits (T, V) of the symbol after each of 1 to block_size ids.
  std::vector<float> logits_of_ids(const std::vector<std::int64_t>& ids) const {
    std::vector<float> logits(ids.size() * static_cast<std::size_t>(vocabulary_size()));
    check(chargpt_logits_of_ids(get(), ids.data(), ids.size(), logits.data(), logits.size()));
    return logits;
  }

  Attention attention(std::string_view text, Unknown unknown = Unknown::error) const {
    Attention all;
    const auto fill = [&] {
      check(chargpt_attention(get(), text.data(), text.size(), policy(unknown), all.values.data(), all.values.size(),
                              &all.layers, &all.heads, &all.T));
    };
    fill();
    all.values.resize(static_cast<std::size_t>(all.layers * all.heads * all.T * all.T));
    fill();
    return all;
  }

 private:
  struct Close {
    void operator()(chargpt_model* model) const { chargpt_close(model); }
  };

  template <class Open>
  Model(const OpenOptions& options, const Open& open) {
    chargpt_open_options given{};
    given.size = sizeof given;
    check(chargpt_open_defaults(&given));
    given.checkpoint = options.checkpoint.c_str();
    given.weights = options.weights.c_str();
    given.threads = options.threads;
    chargpt_model* model = nullptr;
    check(open(&given, &model));
    model_.reset(model);
  }

  /// Passes the callback through C, which exceptions must not cross.
  struct Call {
    const OnText& on_text;
    std::exception_ptr thrown;

    static int give(void* context, const char* piece, std::size_t length) {
      Call& call = *static_cast<Call*>(context);
      try {
        return call.on_text(std::string_view(piece, length)) ? 0 : 1;
      } catch (...) {
        call.thrown = std::current_exception();
        return 1;
      }
    }
  };

  static void check(int status) {
    if (status != CHARGPT_OK) throw Error(status, chargpt_last_error());
  }

  /// Calls `function`, which returns at most one number per byte of the text.
  template <class Number, class Function>
  std::vector<Number> for_each_character(Function function, std::string_view text, Unknown unknown) const {
    std::vector<Number> numbers(text.size());
    std::size_t count = 0;
    check(function(get(), text.data(), text.size(), policy(unknown), numbers.data(), numbers.size(), &count));
    numbers.resize(count);
    return numbers;
  }
  static chargpt_unknown policy(Unknown unknown) { return static_cast<chargpt_unknown>(unknown); }
  const chargpt_model* get() const { return model_.get(); }

  std::unique_ptr<chargpt_model, Close> model_;
};

}  // namespace abi_1
}  // namespace chargpt
#endif
