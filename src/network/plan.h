// What a model computes: its layers with their parameters, and its options as numbers. Made from the options alone, for
// every model type; the forward pass (forward.h) follows it. And the weights as that pass reads them. Knows no thread,
// no batch, no update and no file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"
#include "kernels/bf16.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "network/layers.h"

namespace chargpt::cpu {

/// Where dropout acts, and which mask of the pass each place draws.
struct DropoutPlan {
  std::array<double, 4> rates{};  ///< of the first values of Place: embedding, attention, attention_output, mlp
  double rate(Place place) const { return rates[static_cast<std::size_t>(place)]; }
  bool any() const { return std::ranges::max(rates) > 0; }
  /// Masks are numbered in the order in which model/layers.cpp asks for them.
  std::uint32_t mask_index(Place place, long layer) const;
};

/// What queries, keys and values are made from.
enum class QkvSource {
  projected,  ///< each a matrix times the token: attention
  input,      ///< all three are the token itself: `masked`
  uniform     ///< the token as value; queries and keys are zero, which weighs all visible tokens alike: `average`
};

/// In which orders packed weights have room: what backward reads is as large again.
enum class Packing { forward, both };

/// RopeAngles of positions 0 to positions - 1, each (positions, hs/2): of a pair of features by p / base^(2i/hs). After
/// it q . k depends on positions only through their difference. Source: Su et al., "RoFormer" (2021).
struct RopeAngles {
  std::vector<float> cosines, sines;
  std::vector<double> frequencies;  ///< (hs/2)
};
RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base);

/// (positions, width): column 2i holds sin(p / base^(2i/width)), column 2i+1 the cosine of the same angle. Source:
/// Vaswani et al., "Attention is all you need" (2017), section 3.5.
std::vector<float> sinusoids(std::int64_t positions, std::int64_t width, double base = 10000.0);

struct Plan : Layers {
  const Kernels* kernels = nullptr;   ///< what it is computed with: packed weights have their panels
  const Bf16Kernels* bf16 = nullptr;  ///< what linear layers compute with in training; null: float32
  long n_layer = 0, n_head = 0, head_size = 0, n_embd = 0, vocab_size = 0, block_size = 0;
  long attention_width = 0;  ///< nh hs, the heads side by side
  long mlp_width = 0;
  long conv_width = 0;  ///< taps of the convolutions; 0: there are none
  QkvSource qkv_source = QkvSource::projected;
  bool causal = true;            ///< false: every token sees the whole window
  bool residual = true;          ///< x + f(x); false: f(x) alone
  std::optional<NormKind> norm;  ///< none: the identity
  bool post_norm = false;        ///< norm(x + f(x)); false: x + f(norm(x)). False without norms
  bool final_norm = true;        ///< before the head; false without norms
  bool feed_forward = true, rope = false;
  std::optional<float> qk_norm_eps;
  bool swiglu = false;  ///< the feed-forward layer has a gate; `activation` is the gate's
  ActivationKind activation = ActivationKind::gelu;
  float norm_eps = 1e-5F, score_scale = 1;
  DropoutPlan dropout;

  std::vector<float> sinusoids;  ///< (block_size, C), or empty
  RopeAngles rotations;          ///< of positions 0 to block_size - 1, or empty
  Packing packing = Packing::forward;
  std::int64_t packed_floats = 0;  ///< of all packed weights

  /// What attention and the feed-forward layer read is normalised.
  bool norm_first() const { return norm && !post_norm; }
};

/// The plan of a model of these options, which must pass check_model_config(). Its parameters lie in the order of the
/// modules, or, where `groups` are given, as ParameterArena places them.
Plan plan_of(const ModelConfig& config, std::int64_t vocab_size, Packing packing = Packing::forward,
             const TrainConfig* groups = nullptr);

/// Gives packed weights their places for these kernels. plan_of() has done so for those of this processor.
void use_kernels(Plan& plan, const Kernels& kernels);

/// What is added to the embedding of each position, (block_size, C): learned or sinusoidal vectors; null where there
/// are none.
const float* position_vectors(const Plan& plan, const float* values);

/// The weights of a model as its passes read them: values where they lie, and the matrices of all linear layers in
/// panels, as kernels.h has them.
struct ModelWeights {
  const float* values = nullptr;  ///< Layers::floats
  AlignedFloats packed{};         ///< Plan::packed_floats
};

/// Part `part` of `parts` of every layer's panels, so that several threads may pack at the same time: W^T, and W too
/// where the plan has room for what backward reads. In bfloat16 for these kernels; null: in float32.
void pack_weights(const Plan& plan, const ModelWeights& weights, const Bf16Kernels* bf16, int part, int parts);

}  // namespace chargpt::cpu
