// What the scorer and the decoder say of the same model, over all options and model types: they share kernels and plan,
// and nothing else. Without LibTorch, so that sanitizers see both; tests/compute compares them with its modules.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/decoder.h"
#include "inference/dimensions.h"
#include "inference/scorer.h"
#include "inference/variants.h"

#include "test.h"

using namespace chargpt;

namespace {

bool contains(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

/// Whether a model of these options has the parameter.
bool has(const ModelConfig& config, const std::string& name) {
  const bool bias = name.ends_with(".bias");
  if (contains(name, "ln_")) {
    if (config.norm == Norm::none) return false;
    return bias ? config.norm == Norm::layernorm && has_bias(config, Place::norm) : config.norm_gain;
  }
  if (!bias) return true;
  if (contains(name, "c_attn")) return has_bias(config, Place::attention);
  if (contains(name, "attn.c_proj")) return has_bias(config, Place::attention_output);
  if (contains(name, "mlp.")) return has_bias(config, Place::mlp);
  if (contains(name, "lm_head")) return config.type != "gpt" || has_bias(config, Place::head);
  return false;
}

/// Weights drawn for whatever a plan asks for; each buffer ends where its parameter does.
class DrawnWeights {
 public:
  explicit DrawnWeights(const ModelConfig& config) : config_(config) {}
  const float* operator()(const std::string& name, const std::vector<std::int64_t>& shape) {
    if (!has(config_, name)) return nullptr;
    std::size_t numel = 1;
    for (const std::int64_t size : shape) numel *= static_cast<std::size_t>(size);
    std::vector<float>& values = weights_[name];
    while (values.size() < numel) values.push_back(static_cast<float>(0.4 * random_.uniform() - 0.2));
    return values.data();
  }

 private:
  ModelConfig config_;
  RandomStream random_{1, Purpose::initialisation};
  std::map<std::string, std::vector<float>> weights_;
};

double loss_of(const float* logits, std::int64_t vocab_size, std::int64_t target) {
  double sum = 0;
  for (std::int64_t i = 0; i < vocab_size; ++i) sum += std::exp(static_cast<double>(logits[i]));
  return std::log(sum) - static_cast<double>(logits[target]);
}

}  // namespace

TEST_CASE("the loss of a window's last position is that of the decoder's logits") {
  int compared = 0;
  for (const Variant& variant : all_variants()) {
    if (leaks(variant.config)) continue;  // what a position sees depends on how long the window is
    INFO(variant.name);
    DrawnWeights weights(variant.config);
    const InferenceModel model(variant.config, test_vocab, std::ref(weights));
    Scorer scorer(model, 2);
    cpu::Decoder decoder(model.plan(), model.values(), cpu::kernels(), 2);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i <= model.block_size(); ++i) ids.push_back((i * i * 7 + 3 * i + 2) % test_vocab);
    const float* logits = nullptr;
    for (std::int64_t T = 1; T <= model.block_size(); ++T) {
      const std::span<const std::int64_t> all = ids;
      const auto count = static_cast<std::size_t>(T);
      std::vector<float> losses(count);
      scorer.score({.inputs = all.first(count), .targets = all.subspan(1, count), .T = T}, losses);
      logits =
          T == 1 ? decoder.start(all.first(1), 1) : decoder.append(all.subspan(count - 1, 1), model.block_size() - 1);
      CHECK(losses.back() == Approx(loss_of(logits, test_vocab, ids[count])).margin(2e-4));
    }
    ++compared;
  }
  CHECK(compared > 90);
}
