#include "model/registry.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "inference/model_types.h"
#include "model/attention_model.h"
#include "model/average.h"
#include "model/bigram.h"
#include "model/gpt.h"
#include "model/initialise.h"
#include "model/masked.h"

namespace chargpt {

namespace {

struct Maker {
  std::string_view type;
  std::shared_ptr<LanguageModel> (*make)(const ModelConfig& config, std::int64_t vocab_size);
};

template <class Model>
std::shared_ptr<LanguageModel> make(const ModelConfig& config, std::int64_t vocab_size) {
  return std::make_shared<Model>(config, vocab_size);
}

constexpr std::array makers{Maker{"bigram", make<BigramModel>}, Maker{"average", make<AverageModel>},
                            Maker{"masked", make<MaskedModel>}, Maker{"attention", make<AttentionModel>},
                            Maker{"gpt", make<GptModel>}};

std::string gigabytes(double bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GB", bytes / 1e9);
  return text.data();
}

void check_memory(const ModelConfig& config, std::int64_t vocab_size) {
  const double weights = 4.0 * static_cast<double>(count_parameters(config, vocab_size));
  const double memory = static_cast<double>(physical_memory());
  if (weights > memory)
    throw Error(ExitCode::memory, "the model's weights alone are " + gigabytes(weights) + ", this machine has " +
                                      gigabytes(memory) + "; lower model.n_embd, n_layer, mlp_size or block_size");
}

/// Modules draw their first weights from the global generator when built, and initialise.h draws them anew: users of
/// the global generator must not notice.
class KeepsGlobalGenerator {
 public:
  KeepsGlobalGenerator() : generator_(at::detail::getDefaultCPUGenerator()), state_(generator_.get_state()) {}
  ~KeepsGlobalGenerator() { generator_.set_state(state_); }
  KeepsGlobalGenerator(const KeepsGlobalGenerator&) = delete;
  KeepsGlobalGenerator& operator=(const KeepsGlobalGenerator&) = delete;

 private:
  at::Generator generator_;
  torch::Tensor state_;
};

}  // namespace

std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t seed) {
  check_model_config(config);
  if (vocab_size < 1)
    throw Error(ExitCode::internal, "a model of " + std::to_string(vocab_size) + " symbols was asked for");
  check_memory(config, vocab_size);
  const KeepsGlobalGenerator untouched;
  auto model = std::ranges::find(makers, config.type, &Maker::type)->make(config, vocab_size);
  const at::Generator generator = at::detail::createCPUGenerator(derive_seed(seed, Purpose::initialisation));
  switch (config.init) {
    case Init::gpt2:
      initialise_gpt2(*model, config, generator);
      break;
    case Init::pytorch:
      initialise_pytorch(*model, generator);
      break;
  }
  return model;
}

}  // namespace chargpt
