#include "run/test_scores.h"

#include "base/open_folder.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "report/json_text.h"
#include "run/run_files.h"

namespace chargpt {
namespace {

constexpr const char* name = "test.json";
constexpr const char* format = "chargpt test scores";
constexpr int current_version = 1;
constexpr std::uint64_t longest = 4096;

}  // namespace

std::int64_t test_scores(const std::filesystem::path& run) {
  const OpenFolder folder(run);
  if (folder.type(name) == std::filesystem::file_type::not_found) return 0;
  const std::string source = printable_path(run / name);
  const nlohmann::json json = parse_strict_json(folder.read(name, longest), source);
  const StrictObject object(json, source);
  if (object.text("format") != format) object.refuse("format", format);
  object.version(format, current_version);
  return object.integer("times", 1);
}

std::int64_t count_test_score(const std::filesystem::path& run) {
  if (!is_run(run)) return 0;
  const std::int64_t times = test_scores(run) + 1;
  OpenFolder(run).write(name, json_text({{"format", format}, {"version", current_version}, {"times", times}}));
  return times;
}

}  // namespace chargpt
