// Reading and writing the losses of one run; what is read is hostile until its sum is right.
#include "experiment/kept_losses.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

static_assert(std::endian::native == std::endian::little, "val_losses.f32 is written as the processor holds it");

/// 1: losses of the best checkpoint. 2: of the end of the run.
constexpr int version = 2;

std::filesystem::path header_path(const std::filesystem::path& run) {
  return run / "val_losses.json";
}
std::filesystem::path losses_path(const std::filesystem::path& run) {
  return run / "val_losses.f32";
}

std::string_view bytes_of(const std::vector<float>& losses) {
  return {reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(float)};
}

std::string hexadecimal(std::uint64_t value) {
  char text[17] = {};
  std::to_chars(text, text + 16, value, 16);
  return text;
}

nlohmann::ordered_json header_of(const KeptRun& kept) {
  return {{"version", version},
          {"count", kept.seed.losses.size()},
          {"crc64", hexadecimal(crc64(bytes_of(kept.seed.losses)))},
          {"seed", kept.seed.seed},
          {"loss", kept.seed.loss},
          {"seconds", kept.seed.seconds},
          {"tokens_per_second", kept.seed.tokens_per_second},
          {"step", kept.seed.step},
          {"updates", kept.seed.steps},
          {"ended", enum_name(kept.seed.ended)},
          {"jobs", kept.seed.jobs},
          {"scored", kept.seed.scored == ScoredAt::end ? "end" : "best"},
          {"lowest_loss", kept.seed.lowest_loss},  // null where it is not known
          {"lowest_step", kept.seed.lowest_step},
          {"params", kept.params},
          {"block_size", kept.block_size},
          {"leaks", kept.leaks},
          {"text", {{"tokens", kept.text.tokens}, {"crc64", hexadecimal(kept.text.crc64)}}}};
}

std::uint64_t from_hexadecimal(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::vector<float> read_losses(const std::filesystem::path& run, const nlohmann::json& header) {
  const std::string bytes = read_regular_file(losses_path(run));
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
  header.at("seed").get_to(kept.seed.seed);
  header.at("loss").get_to(kept.seed.loss);
  header.at("seconds").get_to(kept.seed.seconds);
  header.at("tokens_per_second").get_to(kept.seed.tokens_per_second);
  header.at("step").get_to(kept.seed.step);
  kept.seed.jobs = header.value("jobs", std::int64_t{1});  // absent where an earlier program wrote it
  kept.seed.steps = header.value("updates", std::int64_t{0});
  kept.seed.ended = enum_value<Ending>(header.value("ended", std::string())).value_or(Ending::unknown);
  kept.seed.scored = header.value("scored", "best") == "end" ? ScoredAt::end : ScoredAt::best;
  if (header.contains("lowest_loss") && header["lowest_loss"].is_number())
    header["lowest_loss"].get_to(kept.seed.lowest_loss);
  kept.seed.lowest_step = header.value("lowest_step", std::int64_t{0});
  header.at("params").get_to(kept.params);
  header.at("block_size").get_to(kept.block_size);
  header.at("leaks").get_to(kept.leaks);
  header.at("text").at("tokens").get_to(kept.text.tokens);
  kept.text.crc64 = from_hexadecimal(header.at("text").at("crc64").get<std::string>());
  return kept;
}

}  // namespace

void keep_losses(const std::filesystem::path& run, const KeptRun& kept) {
  write_file_atomically(losses_path(run), bytes_of(kept.seed.losses));
  write_file_atomically(header_path(run), json_text(header_of(kept)));
}

std::optional<KeptRun> kept_losses(const std::filesystem::path& run, std::string& problem) {
  std::error_code ignored;
  if (!std::filesystem::exists(header_path(run), ignored)) return std::nullopt;
  try {
    constexpr std::uint64_t largest_header = 1 << 20;
    return parse(run, nlohmann::json::parse(read_regular_file(header_path(run), largest_header)));
  } catch (const std::exception& error) {
    problem = header_path(run).string() + " cannot be used (" + error.what() + ")";
    return std::nullopt;
  }
}

}  // namespace chargpt
