#include "base/file_kind.h"

#include "test.h"

namespace chargpt {
namespace {

using namespace std::literals;

std::string name_of(std::string_view bytes) {
  const auto kind = kind_of_file(bytes);
  return kind ? std::string(kind->name) : "";
}

std::string wide(std::string_view text, bool little) {
  std::string bytes;
  for (const char c : text) bytes += little ? std::string{c, '\0'} : std::string{'\0', c};
  return bytes;
}

}  // namespace

TEST_CASE("files are called by their first bytes") {
  CHECK(name_of("\x1F\x8B\x08\0"sv) == "a gzip archive");
  CHECK(name_of("\xFD\x37zXZ\0\0\4"sv) == "an xz archive");
  CHECK(name_of("\x28\xB5\x2F\xFD\4"sv) == "a Zstandard archive");
  CHECK(name_of(std::string(257, 'a') + "ustar\0"s) == "a tar archive");
  CHECK(name_of("%PDF-1.7\n"sv) == "a PDF document");
  CHECK(name_of("\x89PNG\r\n\x1A\n\0"sv) == "a PNG picture");
  CHECK(name_of("\xFF\xD8\xFF\xE0\0"sv) == "a JPEG picture");
  CHECK(name_of("\x80\4\x95\0\0\0"sv) == "a Python pickle");
  CHECK(name_of("\x40\0\0\0\0\0\0\0{\"wte\":"sv) == "a safetensors file (weights of a model)");
}

TEST_CASE("what a ZIP archive holds gives it its name") {
  CHECK(name_of("PK\3\4\x14\0\0\0\x08\0mine.txt"sv) == "a ZIP archive");
  CHECK(name_of("PK\3\4....[Content_Types].xml....word/document.xml"sv) == "a Word document (.docx)");
  CHECK(name_of("PK\3\4....mimetypeapplication/epub+zip"sv) == "an EPUB book");
  CHECK(name_of("PK\3\4....model/data.pkl...."sv) == "a PyTorch checkpoint (pickle)");
}

TEST_CASE("wide encodings are told by their mark, or by where their NUL bytes are") {
  CHECK(name_of("\xFF\xFE"s + wide("abc", true)) == "UTF-16 (by its byte order mark)");
  CHECK(name_of("\xFE\xFF"s + wide("abc", false)) == "UTF-16 (by its byte order mark)");
  CHECK(name_of("\xFF\xFE\0\0a\0\0\0"sv) == "UTF-32 (by its byte order mark)");
  const auto little = kind_of_file(wide("a text of some length", true));
  const auto big = kind_of_file(wide("a text of some length", false));
  REQUIRE((little && big));
  CHECK(little->advice == "convert it (iconv -f UTF-16LE -t UTF-8)");
  CHECK(big->advice == "convert it (iconv -f UTF-16BE -t UTF-8)");
}

TEST_CASE("a plain text has no kind") {
  CHECK(name_of("").empty());
  CHECK(name_of("First Citizen:\nBefore we proceed any further, hear me speak.").empty());
  CHECK(name_of("caf\xE9 noir").empty());
  CHECK(name_of(std::string(100, '\0')).empty());
}

}  // namespace chargpt
