#include "exchange/formats.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/describe.h"
#include "network/model_types.h"
#include "report/files/output_file.h"
#include "report/format.h"
#include "run/checkpoints.h"
#include "text/text_listing.h"

namespace chargpt {
namespace {

constexpr Format table[] = {
    {"huggingface", "a folder that transformers loads (AutoModelForCausalLM, AutoTokenizer)", "", false,
     write_huggingface, is_huggingface, read_huggingface},
    {"nanogpt", "what scripts/chargpt_to_nanogpt.py reads and nanogpt_to_chargpt.py makes of ckpt.pt and meta.pkl", "",
     true, write_nanogpt, is_nanogpt, read_nanogpt},
    {"gguf", "a file that llama.cpp reads", ".gguf", false, write_gguf, nullptr, nullptr},
};

RunState state_of(const ImportedModel& model, const std::string& program_version) {
  RunState state;
  state.step = model.step;
  state.max_iters = model.max_iters;
  state.data = model.text;
  state.parameters = count_parameters(model.config.config.model, model.vocabulary.size());
  state.start_symbol = std::max<std::int64_t>(0, model.vocabulary.id_of('\n'));
  state.program_version = program_version;
  state.libtorch_version = state.cpu_capability = "none";
  state.device = state.engine = "cpu";
  state.threads = 1;
  return state;
}

namespace fs = std::filesystem;

/// A link that leads nowhere exists too.
void refuse_existing(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::symlink_status(path, failed).type();
  if (type == fs::file_type::not_found) return;
  if (type == fs::file_type::none) fail_on("use", path, failed.value());
  throw Error(ExitCode::busy, path, " already exists; choose another path or remove it");
}

}  // namespace

std::span<const Format> formats() {
  return table;
}

const Format& format_of(std::string_view name) {
  return *std::ranges::find(table, name, &Format::name);
}

void refuse_obstacle(const std::optional<std::string>& line) {
  if (line) throw Error(ExitCode::usage, *line);
}

ResolvedConfig imported_config(nlohmann::ordered_json sections, const std::filesystem::path& folder,
                               const std::string& source) {
  const std::string name = name_of_path(folder);
  constexpr std::size_t longest = 100;  // name that a config can have
  const bool usable = !name.empty() && name.size() <= longest && printable(name, 4 * longest) == name;
  sections["name"] = usable ? name : "imported";
  sections["data"] = {{"text", "unknown:imported"}};  // no file, so that it is asked for where one is needed
  try {
    ResolvedConfig config = parse_config(sections.dump(), source, {});
    check_model_config(config.config.model);
    return config;
  } catch (const Error& error) {
    const std::string line = error.what();
    throw Error(ExitCode::data, line.starts_with(source) ? "" : source + ": ", line);
  }
}

void write_imported_run(const std::filesystem::path& run, const ImportedModel& model,
                        const std::string& program_version) {
  const std::vector<TensorView> parameters = views_of(model.parameters), optimizer = views_of(model.optimizer);
  write_file_atomically(run / "config.json", json_text(to_json(model.config)));
  const RunState state = state_of(model, program_version);
  save_checkpoint(run, {state, model.vocabulary, model.config, parameters, optimizer}, 1);
}

OutputFolder::OutputFolder(const fs::path& out, Kind kind)
    : out_(without_final_slash(out)), partial_(out_.native() + ".partial"), kind_(kind) {
  refuse_existing(out_);
  refuse_existing(partial_);
  std::error_code failed;
  fs::create_directories(folder_of(out_), failed);
  if (failed) fail_on("make the folder", folder_of(out_), failed.value());
  if (kind_ == Kind::file) return;
  fs::create_directory(partial_, failed);
  if (failed) fail_on("make the folder", partial_, failed.value());
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (const std::string& file : files_) fs::remove(kind_ == Kind::file ? partial_ : partial_ / file, ignored);
  if (kind_ == Kind::folder) fs::remove(partial_, ignored);
}

void OutputFolder::write(const std::string& name, std::string_view text) {
  write(name, [text](const ByteSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void OutputFolder::write(const std::string& name, const std::function<void(const ByteSink& sink)>& write_to) {
  OutputFile file(kind_ == Kind::file ? partial_ : partial_ / name, OutputFile::Start::fresh);
  files_.push_back(name);
  write_to([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    bytes_ += bytes.size();
  });
  file.sync_and_close();
}

void OutputFolder::finish() {
  if (kind_ == Kind::folder) {
    write(export_mark, json_text({{"format", "chargpt export"}, {"version", 1}, {"files", files_}}));
    fsync_path(partial_);
  }
  refuse_existing(out_);
  std::error_code failed;
  fs::rename(partial_, out_, failed);
  if (failed) fail_on("write", out_, failed.value());
  fsync_path(folder_of(out_));
}

}  // namespace chargpt
