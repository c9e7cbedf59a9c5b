#include "run/kept_files.h"

#include "base/error.h"
#include "base/open_folder.h"
#include "checkpoint/strict_json.h"
#include "report/json_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

constexpr int current_version = 1;
constexpr KeptFile test_file{"test.json", "chargpt test scores"};

}  // namespace

std::optional<nlohmann::json> kept_json(const std::filesystem::path& run, const KeptFile& file) {
  constexpr std::uint64_t longest = 1 << 16;
  const OpenFolder folder(run);
  if (folder.type(file.name) == std::filesystem::file_type::not_found) return std::nullopt;
  const std::string source = printable_path(run / file.name);
  nlohmann::json json = parse_strict_json(folder.read(file.name, longest), source);
  const StrictObject object(json, source);
  if (object.text("format") != file.format) object.refuse("format", file.format);
  object.version(file.format, current_version);
  return json;
}

void keep_json(const std::filesystem::path& run, const KeptFile& file, const nlohmann::ordered_json& fields) {
  if (!is_run(run)) return;
  nlohmann::ordered_json json = {{"format", file.format}, {"version", current_version}};
  json.update(fields);
  OpenFolder(run).write(file.name, json_text(json));
}

std::int64_t test_scores(const std::filesystem::path& run) try {
  const std::optional<nlohmann::json> json = kept_json(run, test_file);
  return json ? StrictObject(*json, printable_path(run / test_file.name)).integer("times", 1) : 0;
} catch (const Error& error) {
  if (error.code() != ExitCode::data) throw;
  throw Error(ExitCode::data, error.what(),
              "; it counts how often the test split was scored: restore it, or delete it to count from 0");
}

std::int64_t count_test_score(const std::filesystem::path& run) {
  if (!is_run(run)) return 0;
  const std::int64_t times = test_scores(run) + 1;
  keep_json(run, test_file, {{"times", times}});
  return times;
}

nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint) {
  using Json = nlohmann::ordered_json;
  constexpr std::uint64_t longest = 1 << 20;
  try {
    const Json figures = foreign_json(OpenFolder(run_place(checkpoint.path, "best").run).read("figures.json", longest));
    const Json about = figures.is_object() ? figures.value("checkpoint", Json()) : Json();
    if (about.is_object() && about.value("step", Json()) == checkpoint.state.step) return figures;
  } catch (const Error&) {
  }
  return nullptr;
}

}  // namespace chargpt
