// RUN/samples/step-00000500.txt: what the model wrote at each evaluation, as it wrote it.
#pragma once

#include <filesystem>

#include "report/events.h"

namespace chargpt {

class SampleFileWriter : public Listener {
 public:
  /// Makes `folder` with the first sample. Errors: io.
  explicit SampleFileWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// A sample of the same step is replaced.
  void on(const SampleEvent& event) override;

 private:
  std::filesystem::path folder_;
};

}  // namespace chargpt
