#include "report/files/sample_files.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/error.h"

namespace chargpt {

void SampleFileWriter::on(const SampleEvent& event) {
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "step-%08" PRId64 ".txt", event.step);
  try {
    run_.make("samples").write(name.data(), event.text);
  } catch (const Error& failure) {
    if (!complain_ || failure.code() != ExitCode::io) throw;
    complain_(failure.what());
  }
}

}  // namespace chargpt
