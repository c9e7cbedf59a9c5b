#include "page/model_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
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

void check_size(std::int64_t numel) {
  if (numel > most_page_parameters)
    throw Error(ExitCode::usage,
                "the model has " + format_short(static_cast<double>(numel)) + " parameters, and a page holds " +
                    format_short(static_cast<double>(most_page_parameters)) + "; --no-model leaves them out");
}

nlohmann::ordered_json symbols_of(const Vocabulary& vocabulary) {
  nlohmann::ordered_json symbols = nlohmann::ordered_json::array();
  const bool bytes = vocabulary.units() == Units::bytes;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)  // a byte may be half a character by itself
    symbols.push_back(bytes && id >= 128 ? "\xEF\xBF\xBD" : vocabulary.symbol(id));
  return symbols;
}

}  // namespace

nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary) {
  Config config;
  config.model = model.config();
  nlohmann::ordered_json data = {{"config", to_json(config)["model"]},
                                 {"symbols", symbols_of(vocabulary)},
                                 {"bytes", vocabulary.units() == Units::bytes},
                                 {"vocab_size", vocabulary.size()}};
  const std::vector<NamedParameter> parameters = model.parameters();
  std::int64_t numel = 0;
  for (const NamedParameter& parameter : parameters) numel += parameter.numel();
  check_size(numel);
  std::string halves;
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const NamedParameter& parameter : parameters) {
    tensors.push_back({{"name", parameter.name}, {"shape", parameter.shape}});
    for (const float value : std::span(parameter.values, static_cast<std::size_t>(parameter.numel()))) {
      const std::uint16_t half = half_of(value);
      halves += static_cast<char>(half & 255);
      halves += static_cast<char>(half >> 8);
    }
  }
  data["tensors"] = std::move(tensors);
  data["values"] = base64(halves);
  return data;
}

}  // namespace chargpt
