#include "train/inherit.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "config/changed_options.h"
#include "inference/parameter_list.h"

namespace chargpt {
namespace {

/// Ids of the symbols that both vocabularies have: the i-th of `here` is the i-th of `there`.
struct SharedSymbols {
  torch::Tensor here, there;  ///< (shared,) int64
  std::int64_t size_there = 0;
};

SharedSymbols match_symbols(const Vocabulary& here, const Vocabulary& there, const std::string& source) {
  if (here.units() != there.units())
    throw Error(ExitCode::data, source + " was trained on " + std::string(enum_name(there.units())) +
                                    " and data.units is " + std::string(enum_name(here.units())) +
                                    "; use the same units");
  std::map<std::string, std::int64_t> ids;
  for (std::int64_t id = 0; id < there.size(); ++id) ids[there.symbol(id)] = id;
  std::vector<std::int64_t> ours, theirs;
  for (std::int64_t id = 0; id < here.size(); ++id) {
    const auto found = ids.find(here.symbol(id));
    if (found == ids.end()) continue;
    ours.push_back(id);
    theirs.push_back(found->second);
  }
  if (ours.empty())
    throw Error(ExitCode::data, source + " shares no symbol with this text; start a new run without --init_from");
  return {torch::tensor(ours), torch::tensor(theirs), there.size()};
}

std::string differences(const Config& there, const Config& here) {
  std::string text;
  for (const std::string& line : changed_options(there, here, "model")) text += (text.empty() ? "" : ", ") + line;
  return text.empty() ? "" : "; options that differ: " + text;
}

/// Reads tensor `name` of the shape of `out`, contiguous and on the CPU, into it. Error data, with the options that
/// differ, unless it is there.
void read_into(torch::Tensor out, const std::string& name, const Checkpoint& from, const Config& config) {
  const TensorView* found = from.model->find(name);
  if (!found || found->dtype != "F32" || found->shape != out.sizes().vec())
    throw Error(ExitCode::data, from.path.string() + ": tensor " + name +
                                    (found ? " has another shape or type" : " is missing") +
                                    "; --init_from needs the same model" + differences(from.config.config, config));
  const std::span values(out.mutable_data_ptr<float>(), static_cast<std::size_t>(out.numel()));
  std::ranges::copy(found->bytes, std::as_writable_bytes(values).begin());
  expect_finite(values, from.path.string(), name);
}

}  // namespace

std::string inherit_weights(ParameterArena& arena, const Config& config, const Vocabulary& vocabulary,
                            const Checkpoint& from) {
  const torch::NoGradGuard no_grad;
  const std::string source = from.path.string();
  const SharedSymbols symbols = match_symbols(vocabulary, from.vocabulary, source);
  std::map<std::string, bool> counts_symbols;
  for (const ParameterInfo& info : parameter_list(config.model, vocabulary.size()))
    counts_symbols[info.name] = info.counts_symbols;
  std::set<std::string> used;
  for (const ParameterGroup& group : arena.groups()) {
    for (const ParameterSlot& slot : group.slots) {
      used.insert(slot.name);
      const bool by_symbol = counts_symbols.at(slot.name);
      std::vector<std::int64_t> shape_there = slot.shape;
      if (by_symbol) shape_there.front() = symbols.size_there;
      const torch::Tensor there = torch::zeros(shape_there);
      read_into(there, slot.name, from, config);
      torch::Tensor parameter = arena.parameter(slot.name);
      if (by_symbol)
        parameter.copy_(parameter.cpu().index_copy(0, symbols.here, there.index_select(0, symbols.there)));
      else
        parameter.copy_(there);
    }
  }
  for (const TensorView& tensor : from.model->tensors())
    if (!used.contains(tensor.name))
      throw Error(ExitCode::data, source + ": tensor " + tensor.name +
                                      " has no place in this model; --init_from needs the same model" +
                                      differences(from.config.config, config));
  std::ostringstream line;
  line << "weights from " << source << ", which knows " << symbols.here.numel() << " of " << vocabulary.size()
       << " symbols";
  return line.str();
}

}  // namespace chargpt
