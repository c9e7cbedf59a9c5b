// RUN/samples/step-00000500.txt: what the model wrote at each evaluation, byte for byte.
#pragma once

#include <filesystem>
#include <utility>

#include "base/open_folder.h"
#include "report/events.h"
#include "report/files/output_file.h"

namespace chargpt {

class SampleFileWriter : public Listener {
 public:
  /// Makes samples/ in `run` with the first sample. A sample that cannot be written is left out and `complain` told
  /// (without it, Error io).
  explicit SampleFileWriter(const std::filesystem::path& run, Complaint complain = {})
      : run_(run), complain_(std::move(complain)) {}
  /// A sample of the same step is replaced.
  void on(const SampleEvent& event) override;

 private:
  OpenFolder run_;
  Complaint complain_;
};

}  // namespace chargpt
