#include "predict/adaptive_network.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/cpu_engine.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

constexpr double alpha = 0.999, eps = 1e-8;

/// Of each parameter, in one buffer. Error usage as check_adapts.
std::vector<cpu::Parameter> places_of(const InferenceModel& model) {
  check_adapts(model);
  std::vector<cpu::Parameter> places;
  std::int64_t size = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    places.push_back({.group = 0, .offset = size, .numel = parameter.numel()});
    size = cpu::rounded_up(size + parameter.numel(), cpu::cache_line);
  }
  return places;
}

cpu::AlignedFloats values_of(const InferenceModel& model, const std::vector<cpu::Parameter>& places) {
  cpu::AlignedFloats values(cpu::rounded_up(places.back().offset + places.back().numel, cpu::cache_line));
  const std::vector<NamedParameter> parameters = model.parameters();
  for (std::size_t i = 0; i < places.size(); ++i)
    std::copy_n(parameters[i].values, places[i].numel, values.data() + places[i].offset);
  return values;
}

std::string lacks_of(const ModelConfig& config) {
  return cpu_engine_lacks(config, TrainConfig{});
}

}  // namespace

bool adapts(const ModelConfig& config) {
  return lacks_of(config).empty();
}

void check_adapts(const InferenceModel& model) {
  if (const std::string lacks = lacks_of(model.config()); !lacks.empty())
    throw Error(ExitCode::usage, "--adapt does not compute gradients for ", lacks, "; leave it out");
}

AdaptiveNetwork::AdaptiveNetwork(const InferenceModel& trained, int threads, const Adaptation& adaptation)
    : adaptation_(adaptation),
      places_(places_of(trained)),
      trained_(values_of(trained, places_)),
      values_(trained_.copy()),
      gradients_(trained_.size()),
      squares_(trained_.size()),
      model_(trained.config(), trained.vocab_size(),
             [this, next = std::size_t{0}](const std::string&, const std::vector<std::int64_t>&) mutable {
               return values_.data() + places_[next++].offset;
             }),
      network_(model_, threads),
      plan_(cpu::plan_of(trained.config(), trained.vocab_size(), places_, cpu::Packing::both)),
      weights_{.values = {values_.data()}, .packed = cpu::AlignedFloats(plan_.packed_floats)},
      pass_(plan_, weights_),
      losses_(static_cast<std::size_t>(trained.block_size())) {
  pack();
}

/// Of the weights as they are now.
void AdaptiveNetwork::pack() {
  cpu::pack_weights(plan_, weights_, /*bf16=*/nullptr, 0, 1);
  network_is_behind_ = true;
}

// ---- prediction

/// With the weights as they are now.
NetworkPredictor& AdaptiveNetwork::network() {
  if (network_is_behind_) network_.take_weights();
  network_is_behind_ = false;
  return network_;
}

Predictor::Rows AdaptiveNetwork::start(std::span<const std::int64_t> ids, std::int64_t sequences) {
  return network().start(ids, sequences);
}

Predictor::Rows AdaptiveNetwork::advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) {
  return network().advance(rows, ids);
}

void AdaptiveNetwork::logits(const WindowBatch& windows, std::span<float> logits) {
  network().logits(windows, logits);
}

void AdaptiveNetwork::score(const WindowBatch& windows, std::span<float> losses) {
  network().score(windows, losses);
}

// ---- learning

/// losses_ become those of the window before it; `logits` too, unless they are null.
void AdaptiveNetwork::step(const TokenView& tokens, const WindowCut::Window& window, float* logits) {
  const WindowBatch windows{.tokens = tokens, .starts = {&window.begin, 1}, .T = window.length};
  check_windows(windows, vocab_size());
  float* const gradients = gradients_.data();
  pass_.prepare(1, window.length);
  pass_.begin({&gradients, 1});
  pass_.run({.windows = windows, .from = window.from, .scale = 1.0F / static_cast<float>(window.to - window.from)},
            losses_.data(), logits);
  update();
}

void AdaptiveNetwork::score_and_learn(const TokenView& tokens, const WindowCut::Window& window,
                                      std::span<float> losses) {
  step(tokens, window, nullptr);
  std::copy(losses_.begin() + window.from, losses_.begin() + window.to, losses.begin());
}

void AdaptiveNetwork::logits_and_learn(const TokenView& tokens, const WindowCut::Window& window,
                                       std::span<float> logits) {
  step(tokens, window, logits.data());
}

void AdaptiveNetwork::update() {
  const cpu::Kernels& kernels = cpu::kernels();
  float* const gradients = gradients_.data();
  ++steps_;
  // RMSprop is Adam without the first moment: the gradient stands in its place.
  const cpu::AdamwFactors by{
      .scale = 1,
      .fresh1 = 1,
      .fresh2 = static_cast<float>(1 - alpha),
      .beta2 = static_cast<float>(alpha),
      .eps = static_cast<float>(eps),
      .kept = 1,
      .step = static_cast<float>(adaptation_.rate),
      .inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(alpha, static_cast<double>(steps_))))};
  kernels.adamw(by, values_.size(), gradients, values_.data(), gradients, squares_.data());
  kernels.lerp(static_cast<float>(adaptation_.decay), values_.size(), trained_.data(), values_.data());
  pack();
}

}  // namespace chargpt
