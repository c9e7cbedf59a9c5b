#include "network/walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "network/forward.h"
#include "network/model_types.h"

namespace chargpt {
namespace {

/// Runs one window of 1 to block_size ids on one thread and calls the observer for each result. Throws Error internal
/// for another number of ids, or if an id is not in the vocabulary.
void observe(const InferenceModel& model, std::span<const std::int64_t> ids, const cpu::Observer& observer) {
  const cpu::Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids), start = 0;
  if (T < 1 || T > plan.block_size)
    throw Error(ExitCode::internal, "a window of ", T, " ids; the model accepts 1 to ", plan.block_size);
  check_ids(ids, plan.vocab_size, "a window");
  const std::vector<std::uint32_t> stored(ids.begin(), ids.end());
  cpu::ForwardTeam team(plan, model.values(), 1);
  cpu::Forward& pass = team.pass(0);
  team.pack();
  pass.prepare(1, T);
  pass.observe({.tokens = TokenView(stored.data(), sizeof stored[0], T), .starts = {&start, 1}, .T = T}, observer);
}

/// Scaled scores of one head, computed from Made::qkv of a forward pass: (T, T), one row per query; keys after the
/// query are not masked.
std::vector<float> attention_scores(const cpu::Plan& plan, const cpu::MadeValues& qkv, std::int64_t head) {
  const cpu::Kernels& k = cpu::kernels();
  const long T = qkv.rows, hs = plan.head_size, stride = cpu::row_stride(T);
  const float* const q = qkv.values + head * hs;
  cpu::AlignedFloats keys(hs * stride + k.slack);
  std::vector<float> scores(static_cast<std::size_t>(T * T));
  k.transpose(T, hs, q + plan.attention_width, qkv.stride, keys.data(), stride);
  k.matmul(T, T, hs, q, qkv.stride, keys.data(), stride, k.panel_width, scores.data(), T, false);
  for (float& score : scores) score *= plan.score_scale;
  return scores;
}

/// Softmax of one row, in place.
void softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float score : row) sum += std::exp(double{score} - largest);
  for (float& score : row) score = static_cast<float>(std::exp(double{score} - largest) / sum);
}

/// Converts the results of a forward pass into operations with names and formulas.
class Walk {
 public:
  Walk(const InferenceModel& model, std::span<const std::int64_t> ids)
      : plan_(model.plan()), values_(model.values()), config_(model.config()), ids_(ids), T_(std::ssize(ids)) {}

  void made(cpu::Made what, long layer, const cpu::MadeValues& values) {
    using enum cpu::Made;
    const BlockParameters* const in = plan_.n_layer > 0 ? &plan_.blocks[static_cast<std::size_t>(layer)] : nullptr;
    layer_ = what == embedding || what == final_norm || what == logits ? -1 : layer;
    switch (what) {
      case embedding:
        return add_embedding(values);
      case norm_1:
        return add("norm", norm_formula(in->ln_1), values, numel_of(in->ln_1));
      case conv_1:
        return add("convolution", convolved(), values, in->conv_1.numel());
      case qkv:
        return add_qkv(values, *in);
      case attended:
        return add("weighted sums", projected() ? "o = sum of weight_s v_s" : "o = sum of weight_s x_s", values);
      case after_attention: {
        const std::string sum = in->c_proj.out > 0 ? linear("W_o", "o", Place::attention_output) : "o";
        return add("after attention",
                   plan_.post_norm  ? "x = norm(x + " + sum + ")"
                   : plan_.residual ? "x = x + " + sum
                                    : "x = " + sum + ", in place of x",
                   values, numel_of(in->c_proj) + (plan_.post_norm ? numel_of(in->ln_1) : 0));
      }
      case norm_2:
        return add("norm", norm_formula(in->ln_2), values, numel_of(in->ln_2));
      case conv_2:
        return add("convolution", convolved(), values, in->conv_2.numel());
      case hidden:
        return add("hidden layer", hidden_formula(in->conv_2.exists()), values,
                   numel_of(in->c_fc) + numel_of(in->c_gate));
      case cpu::Made::block: {
        const std::string out = linear("W_2", "h", Place::mlp);
        return add("after the feed-forward layer", plan_.post_norm ? "x = norm(x + " + out + ")" : "x = x + " + out,
                   values, numel_of(in->mlp_proj) + (plan_.post_norm ? numel_of(in->ln_2) : 0));
      }
      case final_norm:
        return add("last norm", norm_formula(plan_.ln_f), values, numel_of(plan_.ln_f));
      case logits:
        return add_logits(values);
    }
  }

  std::vector<Operation> take() { return std::move(operations_); }

 private:
  static std::int64_t numel_of(const NormParameters& norm) { return norm.gain.numel() + norm.bias.numel(); }
  static std::int64_t numel_of(const LinearParameters& layer) { return layer.weight.numel() + layer.bias.numel(); }

  static std::vector<float> rows(const cpu::MadeValues& from, long first, long width) {
    std::vector<float> values;
    for (std::int64_t t = 0; t < from.rows; ++t) {
      const float* const row = from.values + t * from.stride + first;
      values.insert(values.end(), row, row + width);
    }
    return values;
  }

  void add(std::string name, std::string formula, std::vector<float> values, long width, std::int64_t parameters = 0) {
    operations_.push_back({.layer = layer_,
                           .name = std::move(name),
                           .formula = std::move(formula),
                           .shape = {static_cast<std::int64_t>(values.size()) / width, width},
                           .values = std::move(values),
                           .parameters = parameters});
  }
  void add(std::string name, std::string formula, const cpu::MadeValues& values, std::int64_t parameters = 0) {
    add(std::move(name), std::move(formula), rows(values, 0, values.width), values.width, parameters);
  }

  bool projected() const { return plan_.qkv_source == cpu::QkvSource::projected; }
  std::string normed() const { return plan_.norm_first() ? "n" : "x"; }

  void add_embedding(const cpu::MadeValues& x) {
    const long C = plan_.n_embd;
    const float* const wte = plan_.wte.at(values_);
    std::vector<float> tokens;
    for (const std::int64_t id : ids_) tokens.insert(tokens.end(), wte + id * C, wte + (id + 1) * C);
    add("token embedding", "x = wte[id]", std::move(tokens), C, plan_.wte.numel());
    const float* const positions = cpu::position_vectors(plan_, values_);
    if (positions == nullptr) return;
    add("position embedding", plan_.wpe.exists() ? "wpe[t]" : "sines and cosines of t",
        std::vector<float>(positions, positions + T_ * C), C, plan_.wpe.numel());
    add("input of the first block", "x = wte[id] + position", x);
  }

  std::string norm_formula(const NormParameters& norm) const {
    const bool centred = *plan_.norm == cpu::NormKind::layernorm;
    return std::string(centred ? "n = (x - mean(x)) / sqrt(var(x) + eps)" : "n = x / sqrt(mean(x²) + eps)") +
           (norm.gain.exists() ? " * gain" : "") + (norm.bias.exists() ? " + bias" : "");
  }

  /// "W_q n + b"
  std::string linear(const std::string& matrix, const std::string& x, Place place) const {
    return matrix + " " + x + (has_bias(config_, place) ? " + b" : "");
  }

  std::string convolved() const {
    return plan_.norm_first() ? "c_t = n_t + sum of w_j n_(t-j)" : "c_t = x_t + sum of w_j x_(t-j)";
  }

  std::string hidden_formula(bool convolution) const {
    const std::string from = convolution ? "c" : normed();
    const std::string inner = linear("W_1", from, Place::mlp);
    if (plan_.swiglu) return "h = (" + inner + ") · silu(" + linear("W_g", from, Place::mlp) + ")";
    return "h = " + std::string(enum_name(config_.activation)) + "(" + inner + ")";
  }

  void add_qkv(const cpu::MadeValues& qkv, const BlockParameters& block) {
    const long A = plan_.attention_width;
    const std::string from = block.conv_1.exists() ? "c" : normed();
    const std::string turned =
        std::string(plan_.qk_norm_eps ? ", normalised" : "") + (plan_.rope ? ", rotated by t" : "");
    if (projected()) {
      const std::int64_t each = numel_of(block.c_attn) / 3;
      add("queries", "q = " + linear("W_q", from, Place::attention) + turned, rows(qkv, 0, A), A, each);
      add("keys", "k = " + linear("W_k", from, Place::attention) + turned, rows(qkv, A, A), A, each);
      add("values", "v = " + linear("W_v", from, Place::attention), rows(qkv, 2 * A, A), A, each);
    }
    const auto T = static_cast<std::size_t>(T_);
    const bool uniform = plan_.qkv_source == cpu::QkvSource::uniform;
    std::vector<float> weights(T, 1.0F / static_cast<float>(T));
    if (!uniform) {
      weights.clear();
      for (std::int64_t head = 0; head < plan_.n_head; ++head) {  // the mask does not hide tokens from the last one
        const std::vector<float> scores = attention_scores(plan_, qkv, head);
        weights.insert(weights.end(), scores.end() - T_, scores.end());
      }
      add("scores of the last token", score_formula() + ", of s up to the row itself; later ones are masked", weights,
          T_);
      for (std::size_t begin = 0; begin < weights.size(); begin += T) softmax(std::span(weights).subspan(begin, T));
    }
    add("weights of the last token",
        !uniform       ? "softmax(scores)"
        : plan_.causal ? "1 / t each, of the t characters up to the row itself"
                       : "1 / T each, of the whole window",
        std::move(weights), T_);
  }

  std::string score_formula() const {
    if (!projected()) return "x · x_s";
    return config_.attention_scale == AttentionScale::none   ? "q · k_s"
           : config_.attention_scale == AttentionScale::head ? "q · k_s / sqrt(hs)"
                                                             : "q · k_s / sqrt(C)";
  }

  void add_logits(const cpu::MadeValues& values) {
    const long V = plan_.vocab_size;
    const std::string last = plan_.final_norm ? "n" : "x";
    std::vector<float> logits = rows(values, 0, V);
    std::vector<float> probabilities(logits.end() - V, logits.end());
    add("logits",
        (plan_.tied ? "wte " : "W ") + last + (plan_.head.bias.exists() ? " + b" : "") +
            (plan_.tied ? ", with the matrix of the token embedding" : ""),
        std::move(logits), V, plan_.head.bias.numel() + (plan_.tied ? 0 : plan_.head.weight.numel()));
    softmax(probabilities);
    add("probabilities of the next character", "softmax(logits of the last token)", std::move(probabilities), V);
  }

  const cpu::Plan& plan_;
  const float* values_;
  const ModelConfig& config_;
  std::span<const std::int64_t> ids_;
  std::int64_t T_, layer_ = -1;
  std::vector<Operation> operations_;
};

}  // namespace

AttentionWeights attention_weights(const InferenceModel& model, std::span<const std::int64_t> ids) {
  const cpu::Plan& plan = model.plan();
  const std::int64_t T = std::ssize(ids);
  AttentionWeights weights{.layers = plan.n_layer, .heads = plan.n_head, .T = T, .values = {}};
  observe(model, ids, [&](cpu::Made made, long, const cpu::MadeValues& qkv) {
    if (made != cpu::Made::qkv) return;
    for (std::int64_t head = 0; head < plan.n_head; ++head) {
      std::vector<float> scores = attention_scores(plan, qkv, head);
      for (std::int64_t t = 0; t < T; ++t) {
        const std::span row = std::span(scores).subspan(static_cast<std::size_t>(t * T), static_cast<std::size_t>(T));
        const std::int64_t seen = plan.causal ? t + 1 : T;
        softmax(row.first(static_cast<std::size_t>(seen)));
        std::ranges::fill(row.subspan(static_cast<std::size_t>(seen)), 0.0F);
      }
      weights.values.insert(weights.values.end(), scores.begin(), scores.end());
    }
  });
  return weights;
}

std::vector<Operation> walk(const InferenceModel& model, std::span<const std::int64_t> ids) {
  Walk walk(model, ids);
  observe(model, ids,
          [&](cpu::Made made, long layer, const cpu::MadeValues& values) { walk.made(made, layer, values); });
  return walk.take();
}

}  // namespace chargpt
