#include "config/foreign_keys.h"

#include <algorithm>
#include <iterator>

namespace chargpt {
namespace {

struct ForeignKey {
  std::string_view key, replacement;
};

constexpr ForeignKey foreign_keys[] = {
    // nanoGPT's train.py, sample.py and GPTConfig
    {"always_save_checkpoint", "every evaluation saves a checkpoint, train.keep says how many to keep"},
    {"backend", "leave it out, training runs in one process"},
    {"compile", "leave it out, there is nothing to compile"},
    {"dataset", "use data.text, which takes the text itself"},
    {"decay_lr", "use train.lr_schedule, \"constant\" for no decay"},
    {"device", "use the flag --device"},
    {"device_type", "use the flag --device"},
    {"eval_only", "use the command chargpt eval RUN"},
    {"flash", "leave it out, attention is fused wherever it can be"},
    {"gradient_accumulation", "use train.gradient_accumulation_steps"},
    {"init_from", "use the flag --init_from RUN, or the command chargpt resume RUN"},
    {"max_new_tokens", "use sample.tokens"},
    {"meta_vocab_size", "leave it out, the vocabulary comes from the text"},
    {"out_dir", "use the flag --run DIR"},
    {"start", "use the flag --prompt of chargpt sample"},
    {"vocab_size", "leave it out, the vocabulary comes from the text"},
    {"wandb_log", "leave it out, metrics.jsonl and TensorBoard events are always written"},
    {"wandb_project", "leave it out, metrics.jsonl and TensorBoard events are always written"},
    {"wandb_run_name", "use the flag --run DIR to name the run"},
    // names that others use
    {"activation_function", "use model.activation"},
    {"bs", "use train.batch_size"},
    {"context_length", "use model.block_size"},
    {"d_ff", "use model.mlp_size"},
    {"d_model", "use model.n_embd"},
    {"embed_dim", "use model.n_embd"},
    {"engine", "use the flag --engine"},
    {"epochs", "use train.max_epochs"},
    {"hidden_size", "use model.n_embd"},
    {"iters", "use train.max_iters"},
    {"lr", "use train.learning_rate"},
    {"max_grad_norm", "use train.grad_clip"},
    {"max_steps", "use train.max_iters"},
    {"n_ctx", "use model.block_size"},
    {"num_heads", "use model.n_head"},
    {"num_layers", "use model.n_layer"},
    {"run", "use the flag --run DIR"},
    {"seq_len", "use model.block_size"},
    {"steps", "use train.max_iters"},
    {"threads", "use the flag --threads"},
    {"warmup_steps", "use train.warmup_iters"},
};

}  // namespace

std::optional<std::string> replacement_of(std::string_view foreign_key) {
  const auto found = std::find_if(std::begin(foreign_keys), std::end(foreign_keys),
                                  [&](const ForeignKey& row) { return row.key == foreign_key; });
  return found == std::end(foreign_keys) ? std::nullopt : std::optional(std::string(found->replacement));
}

}  // namespace chargpt
