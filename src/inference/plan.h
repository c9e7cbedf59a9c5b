// What a model computes, as numbers: sizes, options, the name and place of each parameter, where its packed form lies.
// Made from the options alone, for every model type; one forward pass (forward.h) and one decoder (decoder.h) follow
// it. Knows no thread, no batch and no file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "inference/ngram_rows.h"
#include "kernels/bf16.h"
#include "kernels/kernels.h"

namespace chargpt::cpu {

/// A parameter's place: which buffer, and offset in it. Not there where group < 0.
struct Parameter {
  int group = -1;
  std::int64_t offset = 0, numel = 0;
  bool there() const { return group >= 0; }
};

/// The parameter of that name ("transformer.wte.weight"); one that is not there where there is none. `shape` is what it
/// should have.
using FindParameter = std::function<Parameter(const std::string& name, const std::vector<std::int64_t>& shape)>;

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
  LinearPlan c_attn, c_proj, c_fc, c_gate, mlp_proj;  ///< `out` 0 where there is none
};

/// Where dropout acts, and which mask of the pass each place draws.
struct DropoutPlan {
  double embedding = 0, attention = 0, attention_output = 0, mlp = 0;
  bool any() const { return embedding > 0 || attention > 0 || attention_output > 0 || mlp > 0; }
};

/// Where queries, keys and values come from.
enum class Mixing {
  projected,   ///< each a matrix times the token: attention
  similarity,  ///< all three are the token itself: `masked`
  mean         ///< queries and keys of zeros, which weigh all visible tokens alike: `average`
};

struct Plan {
  const Bf16Kernels* half = nullptr;  ///< what linear layers compute with in training; null: float32
  long layers = 0, heads = 0, head_size = 0, width = 0, joined = 0, hidden = 0, vocab = 0, block_size = 0;
  Mixing mixing = Mixing::projected;
  bool causal = true;            ///< false: every token sees the whole window
  bool residual = true;          ///< x + f(x); false: f(x) alone
  bool post_norm = false;        ///< norm(x + f(x)); false: x + f(norm(x))
  std::optional<NormKind> norm;  ///< none: the identity
  bool final_norm = true, feed_forward = true, gated = false, rope = false;
  std::optional<float> qk_norm_eps;
  ActivationKind curve = ActivationKind::gelu;
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

/// In which orders packed weights have room: what backward reads is as large again.
enum class Packing { forward, both };

/// The plan of a model of these options whose parameters are those that `find` finds, `numel` numbers in all; none
/// where a parameter is missing, of another size, or one more is there than the options ask for. `config` must pass
/// check_model_config().
std::optional<Plan> plan_of(const ModelConfig& config, std::int64_t vocab_size, const FindParameter& find,
                            std::int64_t numel, Packing packing, const Kernels& kernels);

/// Every linear layer of the plan, the head last.
std::vector<const LinearPlan*> linear_layers(const Plan& plan);

}  // namespace chargpt::cpu
