#include "page/model_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "config/load.h"
#include "report/format.h"

namespace chargpt {
namespace {

/// Nearest half-precision number, ties to even; beyond its range the largest one.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const float size = std::min(std::fabs(value), 65504.0F);
  if (size < 0x1p-14F) return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24F));
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);                                // in [1/2, 1)
  const auto rounded = static_cast<std::uint32_t>(std::nearbyint(fraction * 2048));  // 1024 to 2048
  const std::uint32_t half = (static_cast<std::uint32_t>(exponent + 14) << 10) + rounded - 1024;
  return sign | static_cast<std::uint16_t>(std::min(half, 0x7bffU));
}

/// The bytes of all tensors, each where its type may lie.
class Blob {
 public:
  /// Returns its place.
  template <class Value>
  std::size_t add(std::span<const Value> values) {
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    const std::size_t place = bytes_.size();
    const auto* const from = reinterpret_cast<const char*>(values.data());
    bytes_.append(from, values.size_bytes());
    return place;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void add_int8(Blob& blob, std::span<const float> values, std::size_t width, nlohmann::ordered_json& tensor) {
  std::vector<float> scales;
  std::vector<std::int8_t> integers;
  for (std::size_t begin = 0; begin < values.size(); begin += width) {
    const auto row = values.subspan(begin, width);
    float largest = 0;
    for (const float value : row) largest = std::max(largest, std::fabs(value));
    scales.push_back(largest / 127);
    for (const float value : row)
      integers.push_back(static_cast<std::int8_t>(largest > 0 ? std::lround(value / scales.back()) : 0));
  }
  tensor["offset"] = blob.add(std::span<const std::int8_t>(integers));
  tensor["scales"] = blob.add(std::span<const float>(scales));
}

void add_values(Blob& blob, std::span<const float> values, std::size_t width, StoredAs as,
                nlohmann::ordered_json& tensor) {
  tensor["type"] = enum_name(as);
  if (as == StoredAs::int8) return add_int8(blob, values, width, tensor);
  if (as == StoredAs::float32) {
    tensor["offset"] = blob.add(values);
    return;
  }
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(half_of(value));
  tensor["offset"] = blob.add(std::span<const std::uint16_t>(halves));
}

/// By the bytes of float32.
StoredAs chosen(StoredAs asked, std::int64_t bytes) {
  if (asked != StoredAs::automatic) return asked;
  if (bytes <= 4 << 20) return StoredAs::float32;
  return bytes / 2 <= 32 << 20 ? StoredAs::float16 : StoredAs::int8;
}

void check_size(std::int64_t numel, StoredAs as) {
  const std::int64_t bytes = numel * (as == StoredAs::float32 ? 4 : as == StoredAs::float16 ? 2 : 1);
  if (bytes > most_page_weights)
    throw Error(ExitCode::usage, "the model's weights are " + format_bytes(bytes) + " as " +
                                     std::string(enum_name(as)) + ", and a page holds " +
                                     format_bytes(most_page_weights) + "; --no-model leaves them out" +
                                     (as == StoredAs::int8 ? "" : ", --stored-as int8 makes them smaller"));
}

nlohmann::ordered_json symbols_of(const Vocabulary& vocabulary) {
  nlohmann::ordered_json symbols = nlohmann::ordered_json::array();
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.units() == Units::bytes)
      symbols.push_back(id < 128 ? vocabulary.symbol(id) : "\xEF\xBF\xBD");  // half a character by itself
    else
      symbols.push_back(vocabulary.symbol(id));
  return symbols;
}

}  // namespace

nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary, StoredAs asked) {
  Config config;
  config.model = model.config();
  nlohmann::ordered_json data = {{"config", to_json(config)["model"]},
                                 {"symbols", symbols_of(vocabulary)},
                                 {"bytes", vocabulary.units() == Units::bytes},
                                 {"vocab_size", vocabulary.size()}};
  const std::vector<NamedParameter> parameters = model.parameters();
  std::int64_t numel = 0;
  for (const NamedParameter& parameter : parameters) numel += parameter.numel();
  const StoredAs as = chosen(asked, 4 * numel);
  check_size(numel, as);
  Blob blob;
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const NamedParameter& parameter : parameters) {
    nlohmann::ordered_json tensor = {{"name", parameter.name}, {"shape", parameter.shape}};
    const bool vector = parameter.shape.size() == 1;
    add_values(blob, {parameter.values, static_cast<std::size_t>(parameter.numel())},
               static_cast<std::size_t>(parameter.shape.back()), vector ? StoredAs::float32 : as, tensor);
    tensors.push_back(std::move(tensor));
  }
  data["stored"] = format_bytes(std::ssize(blob.bytes())) + " as " + std::string(enum_name(as));
  data["tensors"] = std::move(tensors);
  data["values"] = base64(blob.bytes());
  return data;
}

}  // namespace chargpt
