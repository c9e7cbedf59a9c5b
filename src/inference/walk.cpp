#include "inference/walk.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "inference/dimensions.h"
#include "inference/forward.h"
#include "inference/model_types.h"
#include "inference/one_window.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"

namespace chargpt {
namespace {

/// A forward pass that keeps what each layer makes, as training does.
class Walk : private cpu::Forward {
 public:
  Walk(const InferenceModel& model, std::span<const std::int64_t> ids)
      : Forward(model.plan(), cpu::kernels(), /*for_backward=*/true),
        config_(model.config()),
        parameters_(model.parameters()),
        ids_(ids),
        T_of_window_(std::ssize(ids)) {
    prepare(1, T_of_window_);
  }

  std::vector<Operation> run(const cpu::WeightPointers& weights, const cpu::BatchSlice& window) {
    weights_ = &weights;
    forward(window);
    add_embedding();
    for (std::size_t layer = 0; layer < acts_.size(); ++layer) add_block(static_cast<std::int64_t>(layer));
    layer_ = -1;
    add_head();
    return std::move(operations_);
  }

 private:
  std::string prefix() const { return config_.type == "gpt" ? "transformer." : ""; }

  std::int64_t parameters_of(std::initializer_list<std::string> names) const {
    std::int64_t numel = 0;
    for (const NamedParameter& parameter : parameters_)
      for (const std::string& name : names)
        if (parameter.name == name + ".weight" || parameter.name == name + ".bias") numel += parameter.numel();
    return numel;
  }

  /// (T, width), from rows of `stride`.
  std::vector<float> rows(const float* from, long width, long stride) const {
    std::vector<float> values;
    for (std::int64_t t = 0; t < T_of_window_; ++t)
      values.insert(values.end(), from + t * stride, from + t * stride + width);
    return values;
  }
  std::vector<float> rows(const float* from, long width) const { return rows(from, width, cpu::row_stride(width)); }

  void add(std::string name, std::string formula, std::vector<float> values, long width, std::int64_t parameters = 0) {
    operations_.push_back({.layer = layer_,
                           .name = std::move(name),
                           .formula = std::move(formula),
                           .shape = {static_cast<std::int64_t>(values.size()) / width, width},
                           .values = std::move(values),
                           .parameters = parameters});
  }

  void add_embedding() {
    const long C = plan_.n_embd;
    std::vector<float> tokens;
    for (const std::int64_t id : ids_)
      tokens.insert(tokens.end(), value(plan_.wte) + id * C, value(plan_.wte) + (id + 1) * C);
    add("token embedding", "x = wte[id]", std::move(tokens), C, parameters_of({prefix() + "wte"}));
    const float* const positions = cpu::position_vectors(plan_, weights_->values);
    if (positions != nullptr)
      add("position embedding", plan_.wpe.exists() ? "wpe[t]" : "sines and cosines of t", rows(positions, C, C), C,
          parameters_of({prefix() + "wpe"}));
    if (positions != nullptr) add("input of the first block", "x = wte[id] + position", rows(x_first_, C), C);
  }

  std::string norm_formula(const cpu::NormPlan& norm) const {
    const bool centred = *plan_.norm == cpu::NormKind::layernorm;
    return std::string(centred ? "n = (x - mean(x)) / sqrt(var(x) + eps)" : "n = x / sqrt(mean(x²) + eps)") +
           (norm.gain.exists() ? " * gain" : "") + (norm.bias.exists() ? " + bias" : "");
  }

  /// "W_q n + b"
  std::string linear(const std::string& matrix, const std::string& x, Place place) const {
    return matrix + " " + x + (has_bias(config_, place) ? " + b" : "");
  }

  static std::string convolved(bool normalised) {
    return normalised ? "c_t = n_t + sum of w_j n_(t-j)" : "c_t = x_t + sum of w_j x_(t-j)";
  }

  void add_block(std::int64_t layer) {
    layer_ = layer;
    const auto at = static_cast<std::size_t>(layer);
    const cpu::BlockActivations& acts = acts_[at];
    const cpu::BlockPlan& block = plan_.blocks[at];
    const std::string name = config_.type == "gpt" ? "transformer.h." + std::to_string(layer) + "." : "";
    const long C = plan_.n_embd;
    const bool norm_first = plan_.norm && !plan_.post_norm;
    if (norm_first) add("norm", norm_formula(block.ln_1), rows(acts.ln_1, C), C, parameters_of({name + "ln_1"}));
    if (block.conv_1.exists())
      add("convolution", convolved(norm_first), rows(acts.conv_1, C), C, parameters_of({name + "conv_1"}));
    add_attention(acts, name, block.conv_1.exists() ? "c" : norm_first ? "n" : "x");
    const float* const next = at + 1 < acts_.size() ? acts_[at + 1].x : x_last_;
    const std::string sum = block.c_proj.out > 0 ? linear("W_o", "o", Place::attention_output) : "o";
    const std::string after = plan_.post_norm  ? "norm(x + " + sum + ")"
                              : plan_.residual ? "x + " + sum
                                               : sum + ", in place of x";
    const std::string into_mlp = block.conv_2.exists() ? "c" : norm_first ? "n" : "x";
    add("after attention", "x = " + after, rows(acts.x_mid, C), C,
        parameters_of({name + "attn.c_proj"}) + (plan_.post_norm ? parameters_of({name + "ln_1"}) : 0));
    if (!plan_.feed_forward) return;
    if (norm_first) add("norm", norm_formula(block.ln_2), rows(acts.ln_2, C), C, parameters_of({name + "ln_2"}));
    if (block.conv_2.exists())
      add("convolution", convolved(norm_first), rows(acts.conv_2, C), C, parameters_of({name + "conv_2"}));
    const std::string f(enum_name(config_.activation));
    add("hidden layer",
        plan_.swiglu
            ? "h = (" + linear("W_1", into_mlp, Place::mlp) + ") · silu(" + linear("W_g", into_mlp, Place::mlp) + ")"
            : "h = " + f + "(" + linear("W_1", into_mlp, Place::mlp) + ")",
        rows(acts.hidden, plan_.mlp_width), plan_.mlp_width, parameters_of({name + "mlp.c_fc", name + "mlp.c_gate"}));
    const std::string out = linear("W_2", "h", Place::mlp);
    add("after the feed-forward layer", plan_.post_norm ? "x = norm(x + " + out + ")" : "x = x + " + out, rows(next, C),
        C, parameters_of({name + "mlp.c_proj"}) + (plan_.post_norm ? parameters_of({name + "ln_2"}) : 0));
  }

  void add_attention(const cpu::BlockActivations& acts, const std::string& name, const std::string& from) {
    const long A = plan_.attention_width, ld = cpu::row_stride(3 * A), hs = plan_.head_size;
    const bool projected = plan_.qkv_source == cpu::QkvSource::projected;
    const std::string turned =
        std::string(plan_.qk_norm_eps ? ", normalised" : "") + (plan_.rope ? ", rotated by t" : "");
    if (projected) {
      const std::int64_t each = parameters_of({name + "attn.c_attn"}) / 3;
      add("queries", "q = " + linear("W_q", from, Place::attention) + turned, rows(acts.qkv, A, ld), A, each);
      add("keys", "k = " + linear("W_k", from, Place::attention) + turned, rows(acts.qkv + A, A, ld), A, each);
      add("values", "v = " + linear("W_v", from, Place::attention), rows(acts.qkv + 2 * A, A, ld), A, each);
    }
    const auto T = static_cast<std::size_t>(T_of_window_);
    const bool uniform = plan_.qkv_source == cpu::QkvSource::uniform;
    std::vector<float> weights(T, 1.0F / static_cast<float>(T));
    if (!uniform) {
      weights = last_scores(acts, ld, hs);
      add("scores of the last token", score_formula(projected) + ", of s up to the row itself; later ones are masked",
          weights, T_of_window_);
      for (std::size_t begin = 0; begin < weights.size(); begin += T) softmax(std::span(weights).subspan(begin, T));
    }
    add("weights of the last token",
        !uniform       ? "softmax(scores)"
        : plan_.causal ? "1 / t each, of the t characters up to the row itself"
                       : "1 / T each, of the whole window",
        std::move(weights), T_of_window_);
    add("weighted sums", projected ? "o = sum of weight_s v_s" : "o = sum of weight_s x_s", rows(acts.o, A), A);
  }

  /// Of the last token with all before it and itself, (nh, T): none is later, so that the mask hides nothing.
  std::vector<float> last_scores(const cpu::BlockActivations& acts, long ld, long hs) const {
    const long A = plan_.attention_width;
    const float* const q = acts.qkv + (T_of_window_ - 1) * ld;
    std::vector<float> scores;
    for (long head = 0; head < plan_.n_head; ++head)
      for (std::int64_t t = 0; t < T_of_window_; ++t) {
        const float* const k = acts.qkv + t * ld + A + head * hs;
        double sum = 0;
        for (long i = 0; i < hs; ++i) sum += double{q[head * hs + i]} * k[i];
        scores.push_back(static_cast<float>(sum * plan_.score_scale));
      }
    return scores;
  }

  std::string score_formula(bool projected) const {
    if (!projected) return "x · x_s";
    return config_.attention_scale == AttentionScale::none   ? "q · k_s"
           : config_.attention_scale == AttentionScale::head ? "q · k_s / sqrt(hs)"
                                                             : "q · k_s / sqrt(C)";
  }

  static void softmax(std::span<float> row) {
    const float largest = *std::ranges::max_element(row);
    double sum = 0;
    for (const float score : row) sum += std::exp(double{score} - largest);
    for (float& score : row) score = static_cast<float>(std::exp(double{score} - largest) / sum);
  }

  void add_head() {
    const long C = plan_.n_embd, V = plan_.vocab_size;
    if (plan_.final_norm && plan_.norm)
      add("last norm", norm_formula(plan_.ln_f), rows(ln_f_, C), C, parameters_of({"transformer.ln_f"}));
    const std::string last = plan_.final_norm && plan_.norm ? "n" : "x";
    std::vector<float> logits = rows(logits_, V);
    std::vector<float> probabilities(logits.end() - V, logits.end());
    add("logits",
        plan_.tied ? "wte " + last + ", with the matrix of the token embedding" : linear("W", last, Place::head),
        std::move(logits), V, parameters_of({"lm_head"}));
    softmax(probabilities);
    add("probabilities of the next character", "softmax(logits of the last token)", std::move(probabilities), V);
  }

  const ModelConfig& config_;
  std::vector<NamedParameter> parameters_;
  std::span<const std::int64_t> ids_;
  std::int64_t T_of_window_, layer_ = -1;
  std::vector<Operation> operations_;
};

}  // namespace

std::vector<Operation> walk(const InferenceModel& model, std::span<const std::int64_t> ids) {
  const cpu::OneWindow window(model, ids);
  return Walk(model, ids).run(window.weights(), window.slice());
}

}  // namespace chargpt
