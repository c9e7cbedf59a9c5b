#include "train/inherit.h"

#include <torch/types.h>

#include "base/error.h"
#include "small_run.h"

#include "test.h"

using namespace chargpt;

namespace {

const std::string old_alphabet = "abcdefghijkl.\n", grown_alphabet = "!abcXdefghijkl.\n";

/// A finished run over the old alphabet.
Checkpoint finished_run(const ResolvedConfig& config, const std::filesystem::path& folder) {
  SmallRun run(config, folder);
  run.trainer.run();
  return last_checkpoint(folder);
}

torch::Tensor saved(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView* view = checkpoint.model->find(name);
  REQUIRE(view);
  return torch::from_blob(const_cast<std::byte*>(view->bytes.data()), view->shape, torch::kFloat32).clone();
}

void check_rows_by_symbol(const torch::Tensor& got, const torch::Tensor& old, const torch::Tensor& fresh,
                          const Vocabulary& now, const Vocabulary& then) {
  for (std::int64_t id = 0; id < now.size(); ++id) {
    const std::int64_t old_id = then.id_of(static_cast<char32_t>(now.symbol(id)[0]));
    INFO("symbol " << now.symbol(id));
    CHECK(torch::equal(got[id], old_id < 0 ? fresh[id] : old[old_id]));
  }
}

}  // namespace

TEST_CASE("a grown vocabulary: rows of embedding, head and head's bias follow their symbols, new ones stay fresh") {
  const TestFolder folder;
  ResolvedConfig config = small_config();
  config.config.model.tie_weights = false;
  config.config.model.bias = true;
  config.config.model.bias_places = {Place::attention, Place::mlp, Place::norm, Place::head};
  const Checkpoint checkpoint = finished_run(config, folder.path());
  const Corpus grown = small_corpus(formula_text(1500, grown_alphabet));
  REQUIRE(grown.vocabulary().size() == 16);
  SmallRun fresh(config, {}, -1, grown), tuned(config, {}, -1, grown);
  tuned.trainer.init_from(checkpoint);
  for (const std::string name : {"transformer.wte.weight", "lm_head.weight", "lm_head.bias"}) {
    INFO(name);
    check_rows_by_symbol(tuned.trainer.arena().parameter(name), saved(checkpoint, name),
                         fresh.trainer.arena().parameter(name), grown.vocabulary(), checkpoint.vocabulary);
  }
  const std::string inner = "transformer.h.1.attn.c_attn.weight";
  CHECK(torch::equal(tuned.trainer.arena().parameter(inner), saved(checkpoint, inner)));
  CHECK(tuned.trainer.state().step == 0);
  tuned.trainer.run();
  CHECK(tuned.recorder->noticed("which knows 14 of 16 symbols"));
}

TEST_CASE("the same vocabulary takes over every weight, and the optimizer starts afresh") {
  const TestFolder folder;
  const Checkpoint checkpoint = finished_run(small_config(), folder.path());
  SmallRun tuned(small_config());
  tuned.trainer.init_from(checkpoint);
  for (const ParameterGroup& group : tuned.trainer.arena().groups()) {
    for (const ParameterSlot& slot : group.slots)
      CHECK(torch::equal(tuned.trainer.arena().parameter(slot.name), saved(checkpoint, slot.name)));
    CHECK_FALSE(group.moment1.defined());
  }
}

TEST_CASE("a model that is not the same is refused with the options that differ") {
  const TestFolder folder;
  const Checkpoint checkpoint = finished_run(small_config(), folder.path());
  ResolvedConfig longer = small_config(), deeper = small_config(), shallower = small_config();
  longer.config.model.block_size = 16;
  deeper.config.model.n_layer = 3;
  shallower.config.model.n_layer = 1;
  CHECK_THROWS_WITH(SmallRun(longer).trainer.init_from(checkpoint),
                    Catch::Contains("tensor transformer.wpe.weight has another shape") &&
                        Catch::Contains("model.block_size 8 -> 16"));
  CHECK_THROWS_WITH(SmallRun(deeper).trainer.init_from(checkpoint),
                    Catch::Contains("is missing") && Catch::Contains("model.n_layer 2 -> 3"));
  CHECK_THROWS_WITH(SmallRun(shallower).trainer.init_from(checkpoint), Catch::Contains("has no place in this model"));
}

TEST_CASE("units that differ and texts without a shared symbol are refused") {
  const TestFolder folder;
  const Checkpoint checkpoint = finished_run(small_config(), folder.path());
  SmallRun other(small_config(), {}, -1, small_corpus(formula_text(1500, "0123456789")));
  CHECK_THROWS_WITH(other.trainer.init_from(checkpoint), Catch::Contains("shares no symbol with this text"));
  DataConfig bytes;
  bytes.units = Units::bytes;
  SmallRun as_bytes(small_config(), {}, -1, corpus_from_text(formula_text(1500), bytes, "a text"));
  CHECK_THROWS_WITH(as_bytes.trainer.init_from(checkpoint),
                    Catch::Contains("was trained on characters and data.units is bytes"));
}
