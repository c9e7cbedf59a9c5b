#include "base/files.h"

#include "test.h"

namespace chargpt {
namespace {

using namespace std::literals;

std::string name_of(std::string_view bytes) {
  const auto kind = kind_of_file(bytes);
  return kind ? std::string(kind->name) : "";
}

}  // namespace

TEST_CASE("the first bytes of a file tell its kind") {
  CHECK(name_of("\x1F\x8B\x08\0"sv) == "a gzip archive");
  CHECK(name_of("\x28\xB5\x2F\xFD\4"sv) == "a Zstandard archive");
  CHECK(name_of("PK\3\4\x14\0\0\0\x08\0mine.txt"sv) == "a ZIP archive or an Office document");
  CHECK(name_of("%PDF-1.7\n"sv) == "a PDF document");
  CHECK(name_of("\x89PNG\r\n\x1A\n\0"sv) == "a PNG picture");
  CHECK(name_of("\x40\0\0\0\0\0\0\0{\"wte\":"sv) == "a safetensors file");
  CHECK(name_of("\xFF\xFE"
                "a\0b\0"sv) == "UTF-16");
}

TEST_CASE("a plain text has no kind") {
  CHECK(name_of("").empty());
  CHECK(name_of("First Citizen:\nBefore we proceed any further, hear me speak.").empty());
  CHECK(name_of("caf\xE9 noir").empty());
  CHECK(name_of(std::string(100, '\0')).empty());
}

}  // namespace chargpt
