#include "exchange/huggingface.h"

#include "base/error.h"

namespace chargpt {

std::vector<std::string> write_huggingface(const ExportedModel&, OutputFolder&) {
  throw Error(ExitCode::usage, "--format huggingface cannot be written yet");
}

bool is_huggingface(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / "config.json", ignored) &&
         std::filesystem::is_regular_file(path / "tokenizer.json", ignored);
}

ImportedModel read_huggingface(const std::filesystem::path&) {
  throw Error(ExitCode::usage, "folders of transformers cannot be read yet");
}

}  // namespace chargpt
