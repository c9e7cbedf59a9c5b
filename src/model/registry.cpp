#include "model/registry.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "inference/model_types.h"
#include "model/attention_model.h"
#include "model/average.h"
#include "model/bigram.h"
#include "model/gpt.h"
#include "model/masked.h"
#include "parameters/initial_weights.h"

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

}  // namespace

std::shared_ptr<LanguageModel> make_module(const ModelConfig& config, std::int64_t vocab_size) {
  check_model_config(config);
  return std::ranges::find(makers, config.type, &Maker::type)->make(config, vocab_size);
}

std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto model = make_module(config, vocab_size);
  const auto parameters = model->named_parameters();
  InitialWeights(config, seed).fill_all(parameter_list(config, vocab_size), [&](const std::string& name) {
    const torch::Tensor& parameter = parameters[name];
    return std::span(parameter.mutable_data_ptr<float>(), static_cast<std::size_t>(parameter.numel()));
  });
  return model;
}

}  // namespace chargpt
