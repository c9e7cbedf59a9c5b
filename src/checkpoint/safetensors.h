// The safetensors format: 8 bytes of header size, a JSON header, the bytes of the tensors. A file is hostile until parsed. No torch.
// Source: github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace chargpt {

struct TensorView {
  std::string name;
  std::string dtype;  ///< "F32", "F16", "BF16", "I64", …
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major, little-endian
};

/// A parsed file; the views live as long as it does.
class SafetensorsFile {
 public:
  /// Maps and parses strictly. Error missing / data naming the file and what is wrong with it.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// The same from memory (tests, fuzzing); `source` names it in messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& source);
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// nullptr where there is none of that name.
  const TensorView* find(const std::string& name) const;

 private:
  void parse(std::span<const std::byte> bytes, const std::string& source);
  std::unique_ptr<MappedFile> file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes and fsyncs `path` (not by rename: the caller's folder is renamed). `__metadata__` always has {"format":"pt"}.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace chargpt
