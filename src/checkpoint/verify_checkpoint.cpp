// Every file of one checkpoint, looked at closely; see checkpoint.h.
#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/contents.h"
#include "checkpoint/manifest.h"

namespace chargpt {
namespace {

FileReport report_on(const OpenFolder& folder, const std::string& name, const FileSum& sum) {
  FileReport report{name, sum.bytes, sum.crc64, ""};
  try {
    check_contents(folder, name, read_checked(folder, name, sum));
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::vector<FileReport> verify_checkpoint(const OpenFolder& folder) {
  std::vector<FileReport> reports(1);
  reports[0].name = manifest_file;
  try {
    const Manifest manifest = read_manifest(folder);
    const std::string text = folder.read(manifest_file);
    reports[0].bytes = text.size();
    reports[0].crc64 = crc64(text);
    for (const auto& [name, sum] : manifest) reports.push_back(report_on(folder, name, sum));
  } catch (const Error& error) {
    reports[0].problem = error.what();
  }
  return reports;
}

}  // namespace chargpt
