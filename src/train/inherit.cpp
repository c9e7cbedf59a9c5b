#include "train/inherit.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "config/changed_options.h"
#include "model/registry.h"

namespace chargpt {
namespace {

using Shape = std::vector<std::int64_t>;

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

/// Shapes of all parameters of a model with one symbol more: the dimensions that grow are those that count symbols.
std::map<std::string, Shape> shapes_with_one_symbol_more(const Config& config, std::int64_t vocab_size) {
  std::map<std::string, Shape> shapes;
  const auto model = make_model(config.model, vocab_size + 1, static_cast<std::uint64_t>(config.train.seed));
  for (const auto& item : model->named_parameters()) shapes[item.key()] = item.value().sizes().vec();
  return shapes;
}

std::vector<std::int64_t> symbol_dimensions(const Shape& shape, const Shape& with_one_more) {
  std::vector<std::int64_t> dimensions;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != with_one_more[d]) dimensions.push_back(static_cast<std::int64_t>(d));
  return dimensions;
}

Shape shape_there(Shape shape, const std::vector<std::int64_t>& dimensions, std::int64_t size_there) {
  for (const std::int64_t d : dimensions) shape[static_cast<std::size_t>(d)] = size_there;
  return shape;
}

std::string differences(const Config& there, const Config& here) {
  std::string text;
  for (const std::string& line : changed_options(there, here, "model")) text += (text.empty() ? "" : ", ") + line;
  return text.empty() ? "" : "; options that differ: " + text;
}

/// Writes `source` into `target`, matching every dimension of `dimensions` by symbol; the rest of `target` stays.
torch::Tensor merged(const torch::Tensor& target, const torch::Tensor& source, std::span<const std::int64_t> dimensions,
                     const SharedSymbols& symbols) {
  if (dimensions.empty()) return source;
  const std::int64_t d = dimensions.front();
  const torch::Tensor ours = target.index_select(d, symbols.here);
  const torch::Tensor theirs = source.index_select(d, symbols.there);
  return target.index_copy(d, symbols.here, merged(ours, theirs, dimensions.subspan(1), symbols));
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
  const std::map<std::string, Shape> grown = shapes_with_one_symbol_more(config, vocabulary.size());
  std::set<std::string> used;
  for (const ParameterGroup& group : arena.groups()) {
    for (const ParameterSlot& slot : group.slots) {
      used.insert(slot.name);
      const std::vector<std::int64_t> dimensions = symbol_dimensions(slot.shape, grown.at(slot.name));
      torch::Tensor parameter = arena.parameter(slot.name);
      if (dimensions.empty() && parameter.is_cpu()) {
        read_into(parameter, slot.name, from, config);
        continue;
      }
      const torch::Tensor there = torch::zeros(shape_there(slot.shape, dimensions, symbols.size_there));
      read_into(there, slot.name, from, config);
      parameter.copy_(merged(parameter.cpu(), there, dimensions, symbols));
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
