#include "train/sampling.h"

#include <algorithm>
#include <vector>

#include "generate/generate.h"
#include "inference/model.h"
#include "kernels/thread_team.h"
#include "predict/network.h"

namespace chargpt {

std::int64_t start_symbol(const Corpus& corpus) {
  if (corpus.vocabulary().document() >= 0) return corpus.vocabulary().document();
  const std::int64_t newline = corpus.vocabulary().id_of(U'\n');
  if (newline >= 0) return newline;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(corpus.vocabulary().size()));
  const std::int64_t counted = std::min<std::int64_t>(corpus.train().size(), 10'000'000);
  for (std::int64_t i = 0; i < counted; ++i) ++counts[static_cast<std::size_t>(corpus.train()[i])];
  return std::max_element(counts.begin(), counts.end()) - counts.begin();
}

std::string sample_text(Learner& learner, const Vocabulary& vocabulary, std::int64_t start, const Config& config,
                        const Heartbeat& heartbeat) {
  SampleConfig sampling = config.sample;
  sampling.tokens = config.eval.sample_tokens;
  sampling.num_samples = 1;
  heartbeat(0);
  const ParameterArena& arena = learner.current();
  const InferenceModel model(learner.model, vocabulary.size(), [&](const std::string& name, const auto& /*shape*/) {
    return arena.values_of(name).data();
  });
  std::vector<std::int64_t> ids;
  NetworkPredictor network(model, cpu::threads_in_force());
  generate(network, {start}, sampling, static_cast<std::uint64_t>(config.train.seed),
           [&](std::int64_t, std::int64_t id) {
             if (id == vocabulary.document()) return false;
             ids.push_back(id);
             heartbeat(static_cast<double>(ids.size()) / static_cast<double>(sampling.tokens));
             return true;
           });
  return vocabulary.decode(ids);
}

}  // namespace chargpt
