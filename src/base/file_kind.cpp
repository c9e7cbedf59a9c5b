#include "base/file_kind.h"

#include <array>
#include "base/bytes.h"

namespace chargpt {
namespace {

using namespace std::literals;

constexpr auto export_text = "export it as plain text (UTF-8) and give that"sv;
constexpr auto no_weights = "pickles are never read; to train, give plain text"sv;
constexpr auto not_words = "to train, give plain text"sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  FileKind kind;
};

// Sources: the formats' specifications, as file(1) lists them in its magic files.
constexpr Signature signatures[] = {
    {0, "\x1F\x8B"sv, {"a gzip archive", "unpack it (gunzip) and give the text inside"}},
    {0, "\xFD\x37zXZ\0"sv, {"an xz archive", "unpack it (unxz) and give the text inside"}},
    {0, "\x28\xB5\x2F\xFD"sv, {"a Zstandard archive", "unpack it (unzstd) and give the text inside"}},
    {257, "ustar"sv, {"a tar archive", "unpack it (tar xf) and give the texts inside"}},
    {0, "%PDF-"sv, {"a PDF document", "export its text (pdftotext) and give that"}},
    {0, "\x89PNG\r\n\x1A\n"sv, {"a PNG picture", not_words}},
    {0, "\xFF\xD8\xFF"sv, {"a JPEG picture", not_words}},
    {0, "\x93NUMPY"sv, {"a NumPy array", "to train, give the text, not its ids"}},
    {0, "GGUF"sv, {"a GGUF model", not_words}},
};

/// A ZIP archive is many things, told by the names of its first entries.
constexpr Signature zip_entries[] = {
    {0, "word/"sv, {"a Word document (.docx)", export_text}},
    {0, "[Content_Types].xml"sv, {"an Office document (.docx, .xlsx, .pptx)", export_text}},
    {0, "application/vnd.oasis.opendocument"sv, {"an OpenDocument file (.odt, .ods)", export_text}},
    {0, "application/epub+zip"sv, {"an EPUB book", export_text}},
    {0, "/data.pkl"sv, {"a PyTorch checkpoint (pickle)", no_weights}},
};

/// Eight bytes of length, then JSON.
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 9 && bytes[8] == '{' && bytes[9] == '"' && from_little_endian(bytes.substr(0, 8)) < 100'000'000;
}

/// The opcode PROTO and a protocol, 2 to 5, then no text.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

FileKind kind_of_zip(std::string_view bytes) {
  for (const Signature& entry : zip_entries)
    if (bytes.find(entry.bytes) != std::string_view::npos) return entry.kind;
  return {"a ZIP archive", "unpack it (unzip) and give the text inside"};
}

/// Every second byte of a text in a Latin script is NUL; which one tells the order.
std::optional<FileKind> kind_of_wide_text(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv))
    return FileKind{"UTF-32 (by its byte order mark)", "convert it (iconv -f UTF-32 -t UTF-8)"};
  if (bytes.starts_with("\xFF\xFE"sv) || bytes.starts_with("\xFE\xFF"sv))
    return FileKind{"UTF-16 (by its byte order mark)", "convert it (iconv -f UTF-16 -t UTF-8)"};
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  const std::size_t pairs = bytes.size() / 2;
  if (pairs < 8) return std::nullopt;
  if (zeros[1] > pairs * 8 / 10 && zeros[0] < pairs / 10)
    return FileKind{"probably UTF-16 (every second byte is NUL)", "convert it (iconv -f UTF-16LE -t UTF-8)"};
  if (zeros[0] > pairs * 8 / 10 && zeros[1] < pairs / 10)
    return FileKind{"probably UTF-16 (every second byte is NUL)", "convert it (iconv -f UTF-16BE -t UTF-8)"};
  return std::nullopt;
}

}  // namespace

std::optional<FileKind> kind_of_file(std::string_view first_bytes) {
  const std::string_view bytes = first_bytes.substr(0, kind_bytes);
  if (bytes.starts_with("PK\3\4"sv)) return kind_of_zip(bytes);
  for (const Signature& signature : signatures)
    if (bytes.size() > signature.offset && bytes.substr(signature.offset).starts_with(signature.bytes))
      return signature.kind;
  if (is_safetensors(bytes)) return FileKind{"a safetensors file (weights of a model)", not_words};
  if (is_pickle(bytes)) return FileKind{"a Python pickle", no_weights};
  return kind_of_wide_text(bytes);
}

}  // namespace chargpt
