// Every file of one checkpoint, looked at closely; see checkpoint.h.
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/contents.h"
#include "checkpoint/manifest.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// Reads a file as loading would; Error where it cannot be.
void read_contents(const fs::path& folder, const std::string& name) {
  if (name == state_file) read_state(folder);
  if (name == vocabulary_file) read_vocabulary(folder);
  if (name == config_file) read_config(folder);
  if (name == model_file || name == optimizer_file || name == averaged_file)
    const SafetensorsFile tensors(folder / name);
}

FileReport report_on(const fs::path& folder, const std::string& name, const FileSum& sum) {
  FileReport report{name, sum.bytes, sum.crc64, ""};
  try {
    check_file(folder / name, sum);
    read_contents(folder, name);
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::vector<FileReport> verify_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error(ExitCode::missing, "no checkpoint folder at " + printable_path(folder));
  Manifest manifest;
  try {
    manifest = read_manifest(folder);
  } catch (const Error& error) {
    return {{manifest_file, 0, 0, error.what()}};
  }
  const std::string text = read_regular_file(folder / manifest_file);
  std::vector<FileReport> reports = {{manifest_file, text.size(), crc64(text), ""}};
  for (const auto& [name, sum] : manifest) reports.push_back(report_on(folder, name, sum));
  return reports;
}

}  // namespace chargpt
