// Every byte of a checkpoint damaged in turn: a clear Error or an equal load, with the manifest and without it.
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "failure.h"
#include "run/checkpoint.h"
#include "run/strict_json.h"
#include "saved_run.h"

using namespace chargpt;

namespace {

/// A checkpoint with every file that there may be.
struct WholeRun : SavedRun {
  WholeRun() {
    averages_weights = true;
    folder = save(100);
  }
  fs::path folder;
};

const char* const file_names[] = {model_file,      optimizer_file, averaged_file, state_file,
                                  vocabulary_file, config_file,    manifest_file};

/// Whether a checkpoint folder loads as `whole`; false for an Error that names a file of it.
bool loads_as(const fs::path& folder, const std::string& whole) {
  std::string read;
  const auto [code, line] = error_of([&] { read = contents(load_checkpoint(folder, "last", true)); });
  if (code == ExitCode::ok) {
    CHECK(read == whole);
    return true;
  }
  CHECK(code == ExitCode::data);
  CHECK_THAT(line, Catch::Contains(folder.string()));
  return false;
}

/// Changes one byte in place, as a failing disk would.
void put_byte(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte);
  REQUIRE(file.flush().good());
}

/// What may stand in a pointer's place of `byte`: each bit flipped, every digit, what ends or leaves a name.
std::string pointer_bytes(char byte) {
  std::string bytes = std::string("0123456789./\\ -\n") + '\0' + '\xFF';
  for (int bit = 0; bit < 8; ++bit) bytes += static_cast<char>(byte ^ (1 << bit));
  return bytes;
}

/// Calls read(text) for every truncation of `whole` and every byte with some bits flipped; it may throw nothing but
/// Error. It may accept one truncation, which lacks the final newline, and at most `accepted` percent of the flips,
/// which make other figures or names.
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
  CHECK(truncations <= 1);
  CHECK(flips * 100 <= accepted * 4 * whole.size());
}

}  // namespace

TEST_CASE_METHOD(WholeRun, "the files that are damaged here are all that a checkpoint has") {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>(std::begin(file_names), std::end(file_names)));
}

TEST_CASE_METHOD(WholeRun, "with the manifest, damage to any byte of any file is found") {
  const std::string whole = contents(load_checkpoint(folder, "last", true));
  for (const std::string name : file_names) {
    const std::string bytes = read_file(folder / name);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      CAPTURE(name, at);
      put_byte(folder / name, at, static_cast<char>(bytes[at] ^ (1 << (at % 8))));
      const bool equal = loads_as(folder, whole);
      if (name != manifest_file) CHECK_FALSE(equal);
      put_byte(folder / name, at, bytes[at]);
    }
  }
  CHECK(loads_as(folder, whole));
}

TEST_CASE_METHOD(WholeRun, "with the manifest, every truncation of every file is found") {
  for (const std::string name : file_names) {
    const std::string bytes = read_file(folder / name);
    for (std::size_t size = bytes.size(); size-- > 0;) {
      CAPTURE(name, size);
      fs::resize_file(folder / name, size);
      const bool only_the_final_newline = name == manifest_file && size + 1 == bytes.size();
      if (!only_the_final_newline) CHECK_FALSE(loads_as(folder, ""));
    }
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
}

TEST_CASE_METHOD(WholeRun, "without the manifest, damaged tensors, state and vocabulary never crash their readers") {
  for (const char* name : {model_file, optimizer_file, averaged_file})
    damage_all(read_file(folder / name), 30,
               [](const std::string& text) { SafetensorsFile(std::as_bytes(std::span(text)), "m"); });
  damage_all(read_file(folder / state_file), 20,
             [](const std::string& text) { run_state_from_json(parse_strict_json(text, "s"), "s"); });
  damage_all(read_file(folder / vocabulary_file), 10,
             [](const std::string& text) { Vocabulary::from_json(parse_strict_json(text, "v"), "v"); });
  damage_all(read_file(folder / manifest_file), 10, [](const std::string& text) { parse_manifest(text, "m"); });
}

TEST_CASE_METHOD(SavedRun, "a damaged LATEST or BEST leads to a checkpoint that is there, whatever it says") {
  save(100, /*best=*/true, /*keep=*/2);
  save(200, /*best=*/false, /*keep=*/2);
  for (const std::string pointer : {"LATEST", "BEST"}) {
    const fs::path file = checkpoints() / pointer;
    const std::string whole = read_file(file);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const char byte : pointer_bytes(whole[at])) {
        CAPTURE(pointer, at, int{byte});
        put_byte(file, at, byte);
        const std::int64_t step = load(pointer == "LATEST" ? "last" : "best").state.step;
        CHECK((step == 100 || step == 200));
      }
      put_byte(file, at, whole[at]);
    }
    for (std::size_t size = whole.size(); size-- > 0;) {
      fs::resize_file(file, size);
      CHECK_NOTHROW(load(pointer == "LATEST" ? "last" : "best"));
    }
    write_file_atomically(file, whole);
  }
}

TEST_CASE_METHOD(SavedRun, "without the manifest, a damaged config never crashes its reader") {
  const fs::path folder = save(100), file = folder / config_file;
  const std::string whole = read_file(file);
  const auto attempt = [&](std::size_t at) {
    CAPTURE(at);
    const ExitCode code = error_of([&] { read_config(folder); }).code;
    CHECK((code == ExitCode::ok || code == ExitCode::data));
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    put_byte(file, at, static_cast<char>(whole[at] ^ (1 << (at % 8))));
    attempt(at);
    put_byte(file, at, whole[at]);
  }
  for (std::size_t size = whole.size(); size-- > 0;) {
    fs::resize_file(file, size);
    attempt(size);
  }
}
