// What the CPU engine knows of a model: sizes, options, where each parameter lies in the arena, where its packed form
// lies. One row of questions decides whether a model is covered. Knows no thread and no batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/arena.h"
#include "compute/cpu/half.h"
#include "compute/cpu/kernels.h"
#include "model/language_model.h"
#include "model/ngram.h"

namespace chargpt::cpu {

/// A parameter's place in the arena: group, and offset in its buffers. Not there where group < 0.
struct Parameter {
  int group = -1;
  std::int64_t offset = 0, numel = 0;
  bool there() const { return group >= 0; }
};

/// y (out) = W x (in) + b. Packed at `forward` as W^T and at `backward` as W, offsets into the packed weights.
struct LinearPlan {
  Parameter weight, bias;
  long in = 0, out = 0;
  std::int64_t forward = 0, backward = 0;
};

/// One table of n-grams. Its gradient is the rows' own, ParameterGroup::row_gradient, where its group is row-sparse.
struct TablePlan {
  Parameter weight;
  bool row_sparse = false;
};

struct NormPlan {
  Parameter gain, bias;
};

struct BlockPlan {
  NormPlan ln_1, ln_2;
  LinearPlan c_attn, c_proj, c_fc, c_gate, mlp_proj;  ///< c_proj, c_gate: `out` 0 where there is none
};

/// Where dropout acts, and which mask of the pass each place draws.
struct DropoutPlan {
  double embedding = 0, attention = 0, attention_output = 0, mlp = 0;
  bool any() const { return embedding > 0 || attention > 0 || attention_output > 0 || mlp > 0; }
};

struct Plan {
  const HalfKernels* half = nullptr;  ///< what linear layers compute with in training; null: float32
  long layers = 0, heads = 0, head_size = 0, width = 0, joined = 0, hidden = 0, vocab = 0, block_size = 0;
  std::optional<RowNorm> norm;  ///< none: the identity
  bool final_norm = true, feed_forward = true, gated = false, rope = false;
  std::optional<float> qk_norm_eps;
  Curve curve = Curve::gelu;
  float norm_eps = 1e-5F, score_scale = 1;
  DropoutPlan dropout;

  Parameter wte, wpe;
  std::vector<NgramTable> ngrams;
  std::vector<TablePlan> tables;  ///< one for each of `ngrams`
  long table_width = 0;
  LinearPlan ngram_proj;  ///< `out` 0 where the rows of the tables are added
  std::vector<BlockPlan> blocks;
  NormPlan ln_f;
  LinearPlan head;  ///< tied: its weight is wte
  bool tied = true;
  std::vector<float> sinusoids;       ///< (block_size, C), or empty
  std::vector<float> cosines, sines;  ///< (block_size, hs/2), or empty
  std::vector<double> frequencies;    ///< (hs/2), the angles of position 1, or empty
  std::int64_t packed = 0;            ///< floats of all packed weights
};

/// The plan of `model`, or none, and then `why_not` says which option it is: "model.norm_place = post".
std::optional<Plan> plan_of(const LanguageModel& model, const ParameterArena& arena, const TrainConfig& train,
                            const Kernels& kernels, std::string& why_not);

/// The plan of a model that is only run forward, wherever its parameters lie: a Parameter's group counts `values`, its
/// offset is 0, and packed weights have no room for backward's order.
std::optional<Plan> forward_plan_of(const LanguageModel& model, const Kernels& kernels,
                                    std::vector<const float*>& values, std::string& why_not);

/// Every linear layer of the plan, the head last.
std::vector<const LinearPlan*> linear_layers(const Plan& plan);

}  // namespace chargpt::cpu
