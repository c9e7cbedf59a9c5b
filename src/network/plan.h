// What a model computes: its layers with their parameters, and its options as numbers, made from the options only, for
// every model type; the forward pass (forward.h) executes it. Also the weights in the layout of that pass. Independent
// of threads, batches, updates and files.
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

/// Dropout rates, and the index of the mask that each place uses.
struct DropoutPlan {
  std::array<double, 4> rates{};  ///< of the first four values of Place: embedding, attention, attention_output, mlp
  double rate(Place place) const { return rates[static_cast<std::size_t>(place)]; }
  bool any() const { return std::ranges::max(rates) > 0; }
  /// Masks are numbered in the order in which model/layers.h draws them.
  std::uint32_t mask_index(Place place, long layer) const;
};

/// How queries, keys and values are computed.
enum class QkvSource {
  projected,  ///< each is a matrix times the token: attention
  input,      ///< all three are the token itself: `masked`
  uniform     ///< the value is the token; queries and keys are 0, so all visible tokens weigh the same: `average`
};

/// Directions that packed weights are stored for. `both` also packs for backward and doubles the size.
enum class Packing { forward, both };

/// RoPE angles of consecutive positions p: pair i is rotated by p / base^(2i/hs), so q . k depends only on relative
/// positions. Source: Su et al., "RoFormer" (2021).
struct RopeAngles {
  std::vector<double> frequencies;        ///< (hs/2): the angles at position 1
  std::vector<float> cosines{}, sines{};  ///< (positions, hs/2)

  /// Computes the angles of positions `first` to `first` + `count` - 1.
  void set(std::int64_t first, std::int64_t count);
};
/// The angles of positions 0 to positions - 1.
RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base);

/// Sinusoidal position vectors, (positions, width): column 2i contains sin(p / base^(2i/width)), column 2i+1 the cosine
/// of the same angle. Source: Vaswani et al., "Attention is all you need" (2017), section 3.5.
std::vector<float> sinusoids(std::int64_t positions, std::int64_t width, double base = 10000.0);

struct Plan : Layers {
  const Kernels* kernels = nullptr;   ///< kernels to compute with; their panel width is that of the packed weights
  const Bf16Kernels* bf16 = nullptr;  ///< for linear layers; null: use float32
  long n_layer = 0, n_head = 1, head_size = 0, n_embd = 0, vocab_size = 0, block_size = 0;
  long attention_width = 0;  ///< nh hs, the concatenated heads
  long mlp_width = 0;
  long conv_width = 0;  ///< taps of the convolutions; 0: the model has none
  QkvSource qkv_source = QkvSource::projected;
  bool causal = true;            ///< false: every token sees the whole window
  bool residual = false;         ///< x + f(x); false: f(x) alone
  std::optional<NormKind> norm;  ///< nullopt: the identity
  bool post_norm = false;        ///< norm(x + f(x)); false: x + f(norm(x)). False without norms
  bool final_norm = false;       ///< before the head; false without norms
  bool feed_forward = false, rope = false;
  std::optional<float> qk_norm_eps;
  bool swiglu = false;  ///< the feed-forward layer has a gate; `activation` is the gate's
  ActivationKind activation = ActivationKind::gelu;
  float norm_eps = 1e-5F, score_scale = 1;
  DropoutPlan dropout;

  std::vector<float> sinusoids;  ///< (block_size, C), or empty
  RopeAngles rotations;          ///< of positions 0 to block_size - 1; may be empty
  Packing packing = Packing::forward;
  std::int64_t packed_floats = 0;  ///< size of all packed weights

  /// True if the inputs of attention and the feed-forward layer are normalised.
  bool norm_first() const { return norm && !post_norm; }
};

/// Makes the plan of a model with these options, which check_model_config() must accept. Parameters are laid out in the
/// order of the modules or, if `groups` is not null, as in ParameterArena.
Plan plan_of(const ModelConfig& config, std::int64_t vocab_size, Packing packing = Packing::forward,
             const TrainConfig* groups = nullptr);

/// The vectors added to the embedding of each position, (block_size, C): learned or sinusoidal. Returns null if the
/// model has none.
const float* position_vectors(const Plan& plan, const float* values);

/// Weights as the passes read them: the values in place, and the matrices of all linear layers packed into panels (see
/// kernels.h).
struct ModelWeights {
  const float* values = nullptr;  ///< Layers::floats
  AlignedFloats packed{};         ///< Plan::packed_floats
};

/// Packs part `part` of `parts` of every layer's panels, so that threads can share the work: W^T, and for Packing::both
/// also W for backward.
void pack_weights(const Plan& plan, const ModelWeights& weights, int part, int parts);

}  // namespace chargpt::cpu
