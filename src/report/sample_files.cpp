#include "report/sample_files.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"

namespace chargpt {

void SampleFileWriter::on(const SampleEvent& event) {
  try {
    write(event);
  } catch (const Error& failure) {
    if (!complain_ || failure.code() != ExitCode::io) throw;
    complain_(failure.what());
  }
}

void SampleFileWriter::write(const SampleEvent& event) {
  const std::filesystem::path folder = run_.path() / "samples";
  std::error_code failure;
  std::filesystem::create_directory(folder, failure);
  if (failure) throw Error(ExitCode::io, "cannot make the folder " + printable_path(folder) + ": " + failure.message());
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "step-%08" PRId64 ".txt", event.step);
  write_file_atomically(folder / name.data(), event.text);
}

}  // namespace chargpt
