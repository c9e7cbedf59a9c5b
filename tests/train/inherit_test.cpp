#include "train/inherit.h"

#include <cstring>

#include "small_run.h"

using namespace chargpt;

namespace {

const std::string grown_alphabet = "!abcXdefghijkl.\n";

/// A finished run over small_corpus().
Checkpoint finished_run(const ResolvedConfig& config, const std::filesystem::path& folder) {
  EndedRun run(config, folder);
  return last_checkpoint(folder);
}

Floats saved(const Tensors& file, const std::string& name) {
  const TensorView* view = find_tensor(file, name);
  REQUIRE(view);
  Floats values(view->bytes.size() / sizeof(float));
  std::memcpy(values.data(), view->bytes.data(), view->bytes.size());
  return values;
}

Floats weights(SmallRun& run, const std::string& name) {
  const std::span<float> values = values_of(run.trainer.arena(), name);
  return {values.begin(), values.end()};
}

void check_rows_by_symbol(const Floats& got, const Floats& old, const Floats& fresh, const Vocabulary& now,
                          const Vocabulary& then) {
  const auto row = [width = std::ssize(got) / now.size()](const Floats& values, std::int64_t id) {
    return Floats(values.begin() + id * width, values.begin() + (id + 1) * width);
  };
  for (std::int64_t id = 0; id < now.size(); ++id) {
    const std::int64_t old_id = then.id_of(static_cast<char32_t>(now.symbol(id)[0]));
    INFO("symbol " << now.symbol(id));
    CHECK(row(got, id) == (old_id < 0 ? row(fresh, id) : row(old, old_id)));
  }
}

}  // namespace

TEST_CASE_METHOD(TestFolder, "a grown vocabulary: rows of embedding and head follow their symbols, new ones fresh") {
  ResolvedConfig config = small_config();
  config.config.model.tie_weights = false;
  config.config.model.bias = true;
  config.config.model.bias_places = {Place::attention, Place::mlp, Place::norm, Place::head};
  const Checkpoint checkpoint = finished_run(config, path());
  const Corpus grown = small_corpus(formula_text(1500, grown_alphabet));
  REQUIRE(grown.vocabulary().size() == 16);
  SmallRun fresh(config, {}, -1, grown), tuned(config, {}, -1, grown);
  tuned.trainer.init_from(checkpoint);
  for (const std::string name : {"transformer.wte.weight", "lm_head.weight", "lm_head.bias"}) {
    INFO(name);
    check_rows_by_symbol(weights(tuned, name), saved(checkpoint.model, name), weights(fresh, name), grown.vocabulary(),
                         checkpoint.vocabulary);
  }
  const std::string inner = "transformer.h.1.attn.c_attn.weight";
  CHECK(weights(tuned, inner) == saved(checkpoint.model, inner));
  CHECK(tuned.trainer.state().step == 0);
  tuned.trainer.run();
  CHECK(tuned.recorder->noticed("which knows 14 of the text's 16 symbols"));
  CHECK_FALSE(tuned.recorder->noticed("left out"));
  SmallRun fewer(config, {}, -1, small_corpus(formula_text(1500, "abcde")));
  fewer.trainer.init_from(checkpoint);
  fewer.trainer.run();
  CHECK(fewer.recorder->noticed("which knows 5 of the text's 5 symbols; 9 that the text lacks are left out"));
}

TEST_CASE_METHOD(TestFolder, "the same vocabulary takes over every weight, and the optimizer starts afresh") {
  const Checkpoint checkpoint = finished_run(small_config(), path());
  SmallRun tuned(small_config());
  tuned.trainer.init_from(checkpoint);
  for (const Parameter& parameter : tuned.trainer.arena().parameters())
    CHECK(weights(tuned, parameter.name) == saved(checkpoint.model, parameter.name));
  CHECK(tuned.trainer.arena().moment1.empty());
}

TEST_CASE_METHOD(TestFolder, "averaged weights are taken where they are the better ones, and that is said") {
  ResolvedConfig config = small_config();
  config.config.train.ema = 0.9;
  Checkpoint checkpoint = finished_run(config, path());
  const std::string name = "transformer.wte.weight";
  for (const int above : {-1, 0, 1}) {
    const bool better = above < 0;
    checkpoint.state.averaged_val_loss = checkpoint.state.val_loss + above;
    SmallRun tuned(small_config());
    tuned.trainer.init_from(checkpoint);
    CHECK(weights(tuned, name) == saved(better ? checkpoint.averaged : checkpoint.model, name));
    tuned.trainer.run();
    CHECK(tuned.recorder->noticed("averaged weights from ") == better);
  }
}

TEST_CASE_METHOD(TestFolder, "units that differ and texts without a shared symbol are refused") {
  const Checkpoint checkpoint = finished_run(small_config(), path());
  SmallRun other(small_config(), {}, -1, small_corpus(formula_text(1500, "0123456789")));
  CHECK_THROWS_WITH(other.trainer.init_from(checkpoint), Catch::Contains("shares no symbol with this text"));
  DataConfig bytes;
  bytes.units = Units::bytes;
  SmallRun as_bytes(small_config(), {}, -1, corpus_from_text(formula_text(1500), bytes, "a text"));
  CHECK_THROWS_WITH(as_bytes.trainer.init_from(checkpoint),
                    Catch::Contains("was trained on characters and data.units is bytes"));
}
