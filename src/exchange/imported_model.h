// A model that another program wrote, as a run of ours keeps it. Knows no format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/load.h"
#include "text/corpus.h"
#include "text/vocabulary.h"

namespace chargpt {

/// A tensor and its values.
struct OwnTensor {
  std::string name, dtype = "F32";
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  ///< row-major, little-endian
};
/// A tensor of zeros of that shape.
OwnTensor float_tensor(std::string name, std::vector<std::int64_t> shape);
std::span<float> floats(OwnTensor& tensor);
std::span<const float> floats(const OwnTensor& tensor);
std::vector<TensorView> views_of(const std::vector<OwnTensor>& tensors);

struct ImportedModel {
  ResolvedConfig config;
  Vocabulary vocabulary;
  std::vector<OwnTensor> parameters;     ///< by our names, in our shapes
  std::vector<OwnTensor> optimizer{};    ///< empty: none came along, so the run cannot be resumed
  std::int64_t step = 0, max_iters = 0;  ///< as far as the file tells
  Fingerprint text{};                    ///< of the text that it was trained on, where that is known
  std::string what{};                    ///< "GPT-2 of transformers", for people
  std::vector<std::string> notices{};    ///< for people: what was changed or left out
};

/// What data.text of an imported run says: no file, so that it is asked for where one is needed.
inline constexpr const char* unknown_text = "unknown:imported";

/// The config of a run with these sections ({"model": {"n_layer": 4, …}, "train": {…}}), the name of `folder`, where it
/// can have that, and a text that is not known. `source` names the file that they were read from. Error data where an
/// option is out of range or options do not fit together.
ResolvedConfig imported_config(nlohmann::ordered_json sections, const std::filesystem::path& folder,
                               const std::string& source);

/// An imported model becomes a run, which sample, eval, inspect and train --init_from take: writes config and
/// checkpoint into the folder of a run that has begun. Error internal where the parameters are not those of the config,
/// which the readers check first.
void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version);

}  // namespace chargpt
