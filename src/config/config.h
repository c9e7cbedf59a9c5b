// Every option of a run, declared once: type, name, default, range, help, and the needs of an option that is not always
// used ("model.position = rope", see refused.h). JSON, flags, `--help` and the schema are derived from these lines (see
// describe.h), so a new option is one line here. Independent of models, tensors and files.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

/// What one option expands to: a member with its default, and a call in the struct's visit(). A DEFAULT with commas
/// goes in parentheses. An option's needs may follow HELP.
#define CHARGPT_OPTION_MEMBER(TYPE, NAME, DEFAULT, RANGE, HELP, ...) TYPE NAME = DEFAULT;
#define CHARGPT_OPTION_VISIT(TYPE, NAME, DEFAULT, RANGE, HELP, ...) \
  visitor(#NAME, &Self::NAME, RANGE, HELP, "" __VA_ARGS__);

/// Defines struct NAME with one member per option and visit(visitor), which calls visitor(name, pointer to member,
/// range, help, needs) for each; needs is "" for an option that is always used.
#define CHARGPT_OPTIONS(NAME, OPTIONS)     \
  struct NAME {                            \
    using Self = NAME;                     \
    OPTIONS(CHARGPT_OPTION_MEMBER)         \
    template <class Visitor>               \
    static void visit(Visitor&& visitor) { \
      OPTIONS(CHARGPT_OPTION_VISIT)        \
    }                                      \
  }

namespace chargpt {

/// Closed interval of allowed values: of a number, or of the length of a list of strings. `above` excludes `min`.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above = false;
};
constexpr Range between(double min, double max) {
  return {min, max, false};
}
constexpr Range at_least(double min) {
  return {min, std::numeric_limits<double>::infinity(), false};
}
constexpr Range above(double min, double max = std::numeric_limits<double>::infinity()) {
  return {min, max, true};
}
constexpr Range any() {
  return {};
}

using Strings = std::vector<std::string>;
using OptionalNumber = std::optional<double>;

CHARGPT_ENUM(Units, characters, bytes);
CHARGPT_ENUM(Documents, none, lines, paragraphs, files);
CHARGPT_ENUM(Norm, layernorm, rmsnorm, none);
CHARGPT_ENUM(NormPlace, pre, post);
CHARGPT_ENUM(Position, learned, sinusoidal, rope, none);
CHARGPT_ENUM(Activation, gelu, gelu_tanh, relu, relu2, swiglu);
CHARGPT_ENUM(AttentionScale, head, width, none);
CHARGPT_ENUM(Init, gpt2, pytorch);
CHARGPT_ENUM(ResidualInit, scaled, zero, plain);
CHARGPT_ENUM(Place, embedding, attention, attention_output, mlp, norm, head);
CHARGPT_ENUM(Decay, matrices, all);
CHARGPT_ENUM(Windows, random, shuffled);
CHARGPT_ENUM(LrSchedule, cosine, linear, constant, wsd);
CHARGPT_ENUM(Dtype, float32, tf32, bfloat16);
CHARGPT_ENUM(UpdateRule, adamw, muon, muon_rows);

using Places = std::vector<Place>;

#define CHARGPT_DATA_OPTIONS(OPTION)                                                                           \
  OPTION(Strings, text, {"data/tinyshakespeare.txt"}, at_least(1),                                             \
         "texts, concatenated in this order: UTF-8 files, folders of them, or - for standard input")           \
  OPTION(Units, units, Units::characters, any(),                                                               \
         "what one token is: a Unicode code point, or a byte (256 symbols, none unknown)")                     \
  OPTION(Documents, documents, Documents::none, any(),                                                         \
         "what counts as a document; the model learns where each starts and ends: each line, paragraph "       \
         "(separated by blank lines) or file; none: the whole text",                                           \
         "data.separator = \"\"")                                                                              \
  OPTION(std::string, separator, "", any(),                                                                    \
         "cut documents at this string, in which \\n is a newline, \\t a tab and \\\\ a backslash",            \
         "data.documents = none")                                                                              \
  OPTION(std::int64_t, split_seed, 1337, between(0, 9007199254740991.0), "seed that draws held-out documents", \
         "data.documents != none or data.separator != \"\"")                                                   \
  OPTION(double, val_fraction, 0.1, above(0.0, 0.9),                                                           \
         "fraction of the tokens held out for validation: the end of the text, or whole documents")            \
  OPTION(double, test_fraction, 0.0, between(0.0, 0.9),                                                        \
         "fraction held out as a test split, used only by eval --split test and compare --split test")         \
  OPTION(std::int64_t, max_val_tokens, 1000000, between(2, 1e12),                                              \
         "most held-out tokens to score, so that a text of gigabytes is not read whole at each evaluation")    \
  OPTION(std::int64_t, max_symbols, 32768, between(2, 1114112),                                                \
         "refuse a text with more distinct characters than this", "data.units = characters")
CHARGPT_OPTIONS(DataConfig, CHARGPT_DATA_OPTIONS);

#define CHARGPT_MODEL_OPTIONS(OPTION)                                                                                 \
  OPTION(std::string, type, "gpt", any(), "type of model: bigram, average, masked, attention, gpt")                   \
  OPTION(std::int64_t, n_layer, 4, between(1, 1000), "transformer blocks (L)", "model.type = gpt")                    \
  OPTION(std::int64_t, n_head, 4, between(1, 1024), "attention heads (nh)", "model.type = gpt|attention")             \
  OPTION(std::int64_t, n_embd, 128, between(1, 65536), "width of the residual stream (C)")                            \
  OPTION(std::int64_t, block_size, 64, between(1, 1048576), "context length in tokens (T)")                           \
  OPTION(std::int64_t, head_size, 0, between(0, 65536), "width of one head (hs); 0: n_embd / n_head",                 \
         "model.type = gpt|attention")                                                                                \
  OPTION(std::int64_t, mlp_size, 0, between(0, 1048576), "hidden width of the feed-forward layer; 0: 4 * n_embd",     \
         "model.type = gpt, model.feed_forward = true")                                                               \
  OPTION(double, dropout, 0.0, between(0.0, 0.99), "dropout rate at each of dropout_places",                          \
         "model.type = gpt|attention, model.dropout_places != []")                                                    \
  OPTION(Places, dropout_places, (Places{Place::embedding, Place::attention, Place::attention_output, Place::mlp}),   \
         any(), "where dropout acts: embedding, attention (its weights), attention_output, mlp (its output)",         \
         "model.type = gpt|attention, model.dropout != 0")                                                            \
  OPTION(bool, bias, false, any(), "add a bias at each of bias_places",                                               \
         "model.type = gpt|attention, model.bias_places != []")                                                       \
  OPTION(Places, bias_places, (Places{Place::attention, Place::attention_output, Place::mlp, Place::norm}), any(),    \
         "where biases go: attention (q, k, v), attention_output, mlp, norm, head",                                   \
         "model.type = gpt|attention, model.bias = true")                                                             \
  OPTION(Norm, norm, Norm::layernorm, any(), "normalisation", "model.type = gpt")                                     \
  OPTION(NormPlace, norm_place, NormPlace::pre, any(), "before each sublayer, or after each residual sum",            \
         "model.type = gpt, model.norm != none")                                                                      \
  OPTION(bool, norm_gain, true, any(), "give the normalisation a learned gain",                                       \
         "model.type = gpt, model.norm != none")                                                                      \
  OPTION(double, norm_eps, 1e-5, between(1e-12, 1.0), "epsilon inside the root of the normalisation",                 \
         "model.type = gpt, model.norm != none or model.type = gpt|attention, model.qk_norm = true")                  \
  OPTION(bool, final_norm, true, any(), "one more normalisation before the head",                                     \
         "model.type = gpt, model.norm != none")                                                                      \
  OPTION(Position, position, Position::learned, any(), "how the model encodes positions",                             \
         "model.type = gpt|attention")                                                                                \
  OPTION(double, rope_base, 10000.0, above(1.0), "base of the rotary angles",                                         \
         "model.type = gpt|attention, model.position = rope")                                                         \
  OPTION(Activation, activation, Activation::gelu, any(), "non-linearity of the feed-forward layer",                  \
         "model.type = gpt, model.feed_forward = true")                                                               \
  OPTION(bool, feed_forward, true, any(), "give each block a feed-forward layer", "model.type = gpt")                 \
  OPTION(AttentionScale, attention_scale, AttentionScale::head, any(),                                                \
         "divide attention scores by the square root of the head size, of the width, or not at all",                  \
         "model.type = gpt|attention")                                                                                \
  OPTION(bool, qk_norm, false, any(), "RMS-normalise queries and keys per head", "model.type = gpt|attention")        \
  OPTION(bool, output_projection, true, any(), "end attention with a linear layer over the joined heads",             \
         "model.type = gpt|attention")                                                                                \
  OPTION(bool, tie_weights, true, any(), "share one matrix between the token embedding and the head",                 \
         "model.type = gpt")                                                                                          \
  OPTION(Places, conv_places, {}, any(),                                                                              \
         "sublayers that read a short causal convolution of each channel: attention, mlp; empty: none",               \
         "model.type = gpt")                                                                                          \
  OPTION(std::int64_t, conv_width, 4, between(1, 64), "tokens that a convolution spans, the token itself included",   \
         "model.conv_places != []")                                                                                   \
  OPTION(bool, causal, true, any(), "average only: false lets a position see later ones, its own target too (leaks)", \
         "model.type = average")                                                                                      \
  OPTION(Init, init, Init::gpt2, any(), "gpt2: N(0, init_std); pytorch: the library's defaults")                      \
  OPTION(double, init_std, 0.02, between(0.0, 10.0), "standard deviation of the gpt2 initialisation",                 \
         "model.init = gpt2")                                                                                         \
  OPTION(ResidualInit, residual_init, ResidualInit::scaled, any(),                                                    \
         "gpt2 initialisation of the layers that end a residual branch: scaled by 1/sqrt(2 L), zero, or plain",       \
         "model.type = gpt, model.init = gpt2")                                                                       \
  OPTION(Decay, decay, Decay::matrices, any(), "weight decay on matrices and embeddings only, or on all parameters")
CHARGPT_OPTIONS(ModelConfig, CHARGPT_MODEL_OPTIONS);

/// A parameter group: parameters whose name matches get their own rate and decay. The first match wins; the rest form
/// the groups of model.decay. Needs refer to keys of the same group.
#define CHARGPT_GROUP_OPTIONS(OPTION)                                                         \
  OPTION(std::string, match, "", any(), "regular expression to find in the parameter's name") \
  OPTION(OptionalNumber, lr_scale, {}, between(0.0, 1e6),                                     \
         "the group's rate as a multiple of train.learning_rate; left out: 1")                \
  OPTION(OptionalNumber, learning_rate, {}, between(0.0, 1000.0),                             \
         "peak rate of the group, whatever train.learning_rate is; excludes lr_scale")        \
  OPTION(OptionalNumber, weight_decay, {}, between(0.0, 1000.0),                              \
         "decoupled weight decay of the group; left out: train.weight_decay")                 \
  OPTION(UpdateRule, optimizer, UpdateRule::adamw, any(),                                     \
         "adamw; muon (matrices); muon_rows: muon, each row of the step of one length")       \
  OPTION(double, momentum, 0.95, between(0.0, 0.999999), "muon: decay of the momentum", "optimizer = muon|muon_rows")
CHARGPT_OPTIONS(GroupConfig, CHARGPT_GROUP_OPTIONS);
using Groups = std::vector<GroupConfig>;

#define CHARGPT_TRAIN_OPTIONS(OPTION)                                                                                  \
  OPTION(std::int64_t, batch_size, 12, between(1, 1048576), "windows per micro-batch (B)")                             \
  OPTION(std::int64_t, gradient_accumulation_steps, 1, between(1, 65536), "micro-batches per step")                    \
  OPTION(std::int64_t, max_iters, 2000, between(0, 1e12),                                                              \
         "training steps (0 with max_epochs or max_seconds: they alone decide)")                                       \
  OPTION(double, max_epochs, 0.0, at_least(0.0), "maximum number of passes over the train split (0: no limit)")        \
  OPTION(double, max_seconds, 0.0, at_least(0.0),                                                                      \
         "seconds from process start to the last save; the rate follows the share of them (0: no limit)")              \
  OPTION(double, learning_rate, 1e-3, between(0.0, 1000.0), "peak learning rate")                                      \
  OPTION(double, min_lr, 1e-4, between(0.0, 1000.0), "learning rate at the end of the decay",                          \
         "train.lr_schedule != constant")                                                                              \
  OPTION(LrSchedule, lr_schedule, LrSchedule::cosine, any(),                                                           \
         "shape of the decay after warm-up; wsd: constant, then linear")                                               \
  OPTION(std::int64_t, warmup_iters, 100, between(0, 1e12), "steps of linear warm-up")                                 \
  OPTION(std::int64_t, lr_decay_iters, 0, between(0, 1e12), "step at which the decay ends; 0: max_iters",              \
         "train.lr_schedule != constant")                                                                              \
  OPTION(double, wsd_decay_fraction, 0.2, between(0.0, 1.0), "wsd: fraction of the schedule spent decaying",           \
         "train.lr_schedule = wsd")                                                                                    \
  OPTION(double, weight_decay, 0.1, between(0.0, 1000.0), "decoupled weight decay")                                    \
  OPTION(double, beta1, 0.9, between(0.0, 0.999999), "AdamW: decay of the first moment")                               \
  OPTION(double, beta2, 0.99, between(0.0, 0.9999999), "AdamW: decay of the second moment")                            \
  OPTION(double, adam_eps, 1e-8, between(0.0, 1.0), "AdamW: epsilon")                                                  \
  OPTION(double, grad_clip, 1.0, at_least(0.0), "largest global gradient norm; 0: no clipping")                        \
  OPTION(double, ema, 0.0, between(0.0, 0.999999),                                                                     \
         "decay of the moving average of the weights, evaluated and saved beside the trained ones; 0: no average")     \
  OPTION(Groups, groups, {}, any(), "parameter groups with their own rate and decay")                                  \
  OPTION(Strings, teacher, {}, any(),                                                                                  \
         "run to learn from (distillation); may be repeated: the targets are the text's symbols, mixed with the mean " \
         "of what the best checkpoints of these runs predict")                                                         \
  OPTION(double, teacher_weight, 0.75, between(0.0, 1.0),                                                              \
         "share of the teachers' mean in each target; the rest is the text's next symbol", "train.teacher != []")      \
  OPTION(Windows, windows, Windows::random, any(),                                                                     \
         "draw windows at random, or (shuffled) cut the text into windows anew each epoch and use each once")          \
  OPTION(std::int64_t, seed, 1337, between(0, 9007199254740991.0), "seed of weights, windows and dropout")             \
  OPTION(std::int64_t, patience, 0, between(0, 1e9), "stop after this many evaluations without improvement; 0: never") \
  OPTION(std::int64_t, keep, 1, between(1, 1e6), "newest checkpoints to keep, besides the best")                       \
  OPTION(Dtype, dtype, Dtype::float32, any(), "precision of matrix products; weights stay float32")
CHARGPT_OPTIONS(TrainConfig, CHARGPT_TRAIN_OPTIONS);

#define CHARGPT_EVAL_OPTIONS(OPTION)                                                                        \
  OPTION(std::int64_t, eval_interval, 0, between(0, 1e12),                                                  \
         "steps between evaluations (and checkpoints); 0: at each tenth of the run")                        \
  OPTION(std::int64_t, eval_iters, 0, between(0, 1e9),                                                      \
         "batches per evaluation while training; 0: all, or a part of a long split that takes little time") \
  OPTION(std::int64_t, log_interval, 10, between(1, 1e12), "steps between lines of metrics.jsonl")          \
  OPTION(std::int64_t, sample_tokens, 200, between(0, 1e6),                                                 \
         "characters sampled into samples/ at each evaluation; 0: none")
CHARGPT_OPTIONS(EvalConfig, CHARGPT_EVAL_OPTIONS);

#define CHARGPT_SAMPLE_OPTIONS(OPTION)                                                                          \
  OPTION(std::int64_t, tokens, 500, between(0, 1e12), "characters to generate after the prompt")                \
  OPTION(std::int64_t, num_samples, 1, between(1, 65536), "samples")                                            \
  OPTION(double, temperature, 0.8, between(0.0, 1000.0),                                                        \
         "divides the logits; 0: always pick the most probable symbol")                                         \
  OPTION(std::int64_t, top_k, 0, between(0, 1e9), "keep the k most probable symbols; 0: all",                   \
         "sample.temperature != 0")                                                                             \
  OPTION(double, top_p, 1.0, between(0.0, 1.0), "keep the smallest set of symbols that holds this probability", \
         "sample.temperature != 0")                                                                             \
  OPTION(double, min_p, 0.0, between(0.0, 1.0),                                                                 \
         "drop symbols less probable than this fraction of the most probable one", "sample.temperature != 0")
CHARGPT_OPTIONS(SampleConfig, CHARGPT_SAMPLE_OPTIONS);

/// The resolved config of a run. `name`: given, or the name of the preset or file.
struct Config {
  std::string name;
  DataConfig data;
  ModelConfig model;
  TrainConfig train;
  EvalConfig eval;
  SampleConfig sample;

  /// Calls visitor(section_name, pointer to member) for each of the five sections.
  template <class Visitor>
  static void visit(Visitor&& visitor) {
    visitor("data", &Config::data);
    visitor("model", &Config::model);
    visitor("train", &Config::train);
    visitor("eval", &Config::eval);
    visitor("sample", &Config::sample);
  }
};

}  // namespace chargpt
