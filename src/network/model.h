// A trained model as it is read: options, and weights where they lie. For every model type, without LibTorch; nothing
// is trained here. Predictors and attention_weights() compute with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "network/parameter_list.h"
#include "network/plan.h"
#include "run/checkpoint.h"
#include "run/safetensors.h"

namespace chargpt {

/// Which weights of a checkpoint: `better` are the averaged ones where their validation loss was lower.
CHARGPT_ENUM(Weights, better, trained, averaged);

/// trained or averaged. Error usage where averaged ones are asked for and there are none.
Weights chosen_weights(const Checkpoint& checkpoint, Weights which);

/// Float32 values of the parameter of that name and shape, row-major; null where there is none.
using ParameterValues = std::function<const float*(const std::string& name, const std::vector<std::int64_t>& shape)>;

/// Error internal for an id that a model of `vocab_size` symbols does not have; `whose` begins its message.
void check_ids(std::span<const std::int64_t> ids, std::int64_t vocab_size, const std::string& whose);

/// The trained or the averaged weights of a checkpoint, which must outlive this object: counts which are asked for.
class WeightsFile {
 public:
  WeightsFile(const Checkpoint& checkpoint, Weights which);
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  /// Where the values lie in the file, or an aligned copy in `own`. Errors as expect_tensor and expect_finite.
  const float* values(const std::string& name, const std::vector<std::int64_t>& shape,
                      std::vector<std::shared_ptr<float[]>>& own);
  /// After the last: there may be no other.
  void expect_no_more() const { chargpt::expect_no_more(file_, source_, asked_); }
  const std::string& source() const { return source_; }

 private:
  const Tensors& file_;
  std::string source_;
  std::set<std::string> asked_;
};

/// A parameter as it is in use: row-major.
struct NamedParameter : ParameterInfo {
  const float* values = nullptr;
};

class InferenceModel {
 public:
  /// The weights of a checkpoint, which must outlive this object: they are used where they lie. Errors:
  /// data where they are not those of its config, and diverged where one is NaN or infinite, naming file and tensor;
  /// usage where averaged ones are asked for and there are none.
  InferenceModel(const Checkpoint& checkpoint, Weights which);
  /// Weights in memory that outlives this object; what computes with them is told when they change. Error internal
  /// where they are not those of `config`.
  InferenceModel(const ModelConfig& config, std::int64_t vocab_size, const ParameterValues& values);

  const ModelConfig& config() const { return config_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::int64_t block_size() const { return config_.block_size; }
  /// Those in use; `better` is none.
  Weights weights() const { return weights_; }
  const cpu::Plan& plan() const { return plan_; }
  /// By the groups of the plan.
  const std::vector<const float*>& values() const { return values_; }
  /// All of them; of tied ones the first name.
  const std::vector<NamedParameter>& parameters() const { return parameters_; }

 private:
  void read(const ParameterValues& values);

  ModelConfig config_;
  std::int64_t vocab_size_;
  Weights weights_ = Weights::trained;
  cpu::Plan plan_;
  std::vector<const float*> values_;
  std::vector<NamedParameter> parameters_;
  std::vector<std::shared_ptr<float[]>> own_;  ///< what does not lie in a file as it is used
};

/// CRC-64 of every parameter's values, one after another.
std::uint64_t weights_digest(const InferenceModel& model);

}  // namespace chargpt
