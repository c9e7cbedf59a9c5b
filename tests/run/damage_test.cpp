// Every byte of a checkpoint damaged in turn, and every truncation: a clear Error; and no reader crashes on damage that
// no checksum finds.
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "failure.h"
#include "run/checkpoint.h"
#include "run/strict_json.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

/// A checkpoint with every part that there may be.
struct WholeRun : SavedRun {
  WholeRun() {
    averages_weights = true;
    file = save(100);
  }
  fs::path file;
};

/// Changes one byte in place, as a failing disk would.
void put_byte(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte);
  REQUIRE(file.flush().good());
}

/// Calls read(text) for every truncation of `whole` and every byte with some bits flipped; it may throw nothing but
/// Error. It may accept at most `accepted` percent of the flips, which make other figures or names.
template <class Read>
void damage_all(const std::string& whole, std::size_t accepted, const Read& read) {
  std::size_t truncations = 0, flips = 0;
  const auto attempt = [&](const std::string& text, std::size_t& counted) {
    const Failure failure = error_of([&] { read(text); });
    counted += failure.code == ExitCode::ok ? 1 : 0;
    CHECK(failure.line.find('\n') == std::string::npos);
  };
  for (std::size_t size = 0; size < whole.size(); ++size) attempt(whole.substr(0, size), truncations);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {0x01, 0x06, 0x20, 0xFF}) {
      std::string text = whole;
      text[at] = static_cast<char>(text[at] ^ bits);
      attempt(text, flips);
    }
  }
  CHECK(truncations == 0);
  CHECK(flips * 100 <= accepted * 4 * whole.size());
}

}  // namespace

TEST_CASE_METHOD(WholeRun, "damage to any byte of a checkpoint is found, and so is every truncation") {
  const std::string bytes = read_file(file);
  const auto refused = [&] {
    const auto [code, line] = error_of([&] { read_checkpoint(file, true); });
    CHECK(code == ExitCode::data);
    CHECK_THAT(line, Catch::Contains(file.string()));
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    put_byte(file, at, static_cast<char>(bytes[at] ^ (1 << (at % 8))));
    refused();
    put_byte(file, at, bytes[at]);
  }
  for (std::size_t size = bytes.size(); size-- > 0;) {
    CAPTURE(size);
    fs::resize_file(file, size);
    refused();
  }
}

TEST_CASE_METHOD(WholeRun, "damage that sampling would read is found without the optimizer's part") {
  const std::string bytes = read_file(file);
  const std::size_t optimizer = bytes.size() - 6 * sizeof(float), all = bytes.find("\"crc_all\"");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    put_byte(file, at, static_cast<char>(bytes[at] ^ 1));
    const bool is_read = at < optimizer && (at < all + 11 || at >= all + 19);
    CHECK((error_of([&] { read_checkpoint(file, false); }).code == ExitCode::data) == is_read);
    put_byte(file, at, bytes[at]);
  }
}

TEST_CASE_METHOD(WholeRun, "without checksums, damaged parts never crash their readers") {
  const SafetensorsFile whole(file);
  damage_all(std::string(whole.bytes()), 60,
             [](const std::string& text) { SafetensorsFile(std::as_bytes(std::span(text)), "m"); });
  damage_all(whole.metadata().at("state"), 25,
             [](const std::string& text) { run_state_from_json(parse_strict_json(text, "s"), "s"); });
  damage_all(whole.metadata().at("vocabulary"), 10,
             [](const std::string& text) { Vocabulary::from_json(parse_strict_json(text, "v"), "v"); });
}
