// Reading and writing the losses of one run; what is read is hostile until its sum is right.
#include "experiment/kept_losses.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

static_assert(std::endian::native == std::endian::little, "val_losses.f32 is written as the processor holds it");

/// 1: losses of the best checkpoint. 2: of the end of the run.
constexpr int version = 2;
constexpr const char *header_name = "val_losses.json", *losses_name = "val_losses.f32";

std::string_view bytes_of(const std::vector<float>& losses) {
  return {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(float)};
}

std::string hexadecimal(std::uint64_t value) {
  char text[17] = {};
  std::to_chars(text, text + 16, value, 16);
  return text;
}

/// The keys of val_losses.json that are plain numbers, and whether version 1 had them.
template <class Kept, class Visit>
void each_figure(Kept& kept, const Visit& visit) {
  visit("seed", kept.seed.seed, true);
  visit("loss", kept.seed.loss, true);
  visit("seconds", kept.seed.seconds, true);
  visit("tokens_per_second", kept.seed.tokens_per_second, true);
  visit("step", kept.seed.step, true);
  visit("updates", kept.seed.steps, false);
  visit("jobs", kept.seed.jobs, false);
  visit("lowest_loss", kept.seed.lowest_loss, false);  // null where it is not known
  visit("lowest_step", kept.seed.lowest_step, false);
  visit("test_loss", kept.seed.test_loss, false);
  visit("params", kept.params, true);
  visit("block_size", kept.block_size, true);
  visit("leaks", kept.leaks, true);
}

nlohmann::ordered_json header_of(const KeptRun& kept) {
  nlohmann::ordered_json header = {{"version", version},
                                   {"count", kept.seed.losses.size()},
                                   {"crc64", hexadecimal(crc64(bytes_of(kept.seed.losses)))}};
  each_figure(kept, [&]<class Value>(const char* key, const Value& value, bool) {
    if constexpr (!std::is_same_v<Value, std::optional<double>>)
      header[key] = value;
    else if (value)
      header[key] = *value;
  });
  header["ended"] = enum_name(kept.seed.ended);
  header["scored"] = enum_name(kept.seed.scored);
  header["text"] = {{"tokens", kept.text.tokens}, {"crc64", hexadecimal(kept.text.crc64)}};
  return header;
}

std::vector<float> read_losses(const std::filesystem::path& run, const nlohmann::json& header) {
  const std::string bytes = read_regular_file(run / losses_name);
  if (bytes.size() / sizeof(float) != header.at("count").get<std::size_t>() || bytes.size() % sizeof(float) != 0 ||
      hexadecimal(crc64(bytes)) != header.at("crc64").get<std::string>())
    throw Error(ExitCode::data, "val_losses.f32 is not what val_losses.json says");
  std::vector<float> losses(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(losses.data(), bytes.data(), bytes.size());
  return losses;
}

KeptRun parse(const std::filesystem::path& run, const nlohmann::json& header) {
  const int written = header.at("version").get<int>();
  if (written < 1 || written > version) throw Error(ExitCode::data, "another version of val_losses.json");
  KeptRun kept;
  kept.seed.run = run;
  kept.seed.losses = read_losses(run, header);
  each_figure(kept, [&]<class Value>(const char* key, Value& value, bool always) {
    const auto found = header.find(key);
    if (found == header.end() ? !always : found->is_null()) return;
    if constexpr (std::is_same_v<Value, std::optional<double>>)
      value = header.at(key).get<double>();
    else
      header.at(key).get_to(value);
  });
  kept.seed.ended = enum_value<Ending>(header.value("ended", std::string())).value_or(Ending::unknown);
  kept.seed.scored = enum_value<ScoredAt>(header.value("scored", "best")).value_or(ScoredAt::best);
  header.at("text").at("tokens").get_to(kept.text.tokens);
  const std::string sum = header.at("text").at("crc64").get<std::string>();
  std::from_chars(sum.data(), sum.data() + sum.size(), kept.text.crc64, 16);
  return kept;
}

}  // namespace

void keep_losses(const std::filesystem::path& run, const KeptRun& kept) {
  write_file_atomically(run / losses_name, bytes_of(kept.seed.losses));
  write_file_atomically(run / header_name, json_text(header_of(kept)));
}

std::optional<KeptRun> kept_losses(const std::filesystem::path& run, std::string& problem) {
  const std::filesystem::path path = run / header_name;
  if (!is_there(path)) return std::nullopt;
  try {
    constexpr std::uint64_t largest_header = 1 << 20;
    return parse(run, nlohmann::json::parse(read_regular_file(path, largest_header)));
  } catch (const std::exception& error) {
    problem = path.string() + " cannot be used (" + error.what() + ")";
    return std::nullopt;
  }
}

}  // namespace chargpt
