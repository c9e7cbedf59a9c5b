// RUN/samples/step-00000500.txt: what the model wrote at each evaluation, as it wrote it.
#pragma once

#include <filesystem>
#include <utility>

#include "report/events.h"
#include "report/patient_file.h"

namespace chargpt {

class SampleFileWriter : public Listener {
 public:
  /// Makes `folder` with the first sample. A sample that cannot be written is left out and `complain` told (without it,
  /// Error io).
  explicit SampleFileWriter(std::filesystem::path folder, Complaint complain = {})
      : folder_(std::move(folder)), complain_(std::move(complain)) {}
  /// A sample of the same step is replaced.
  void on(const SampleEvent& event) override;

 private:
  void write(const SampleEvent& event) const;
  std::filesystem::path folder_;
  Complaint complain_;
};

}  // namespace chargpt
