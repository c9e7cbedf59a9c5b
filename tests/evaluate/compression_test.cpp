#include "evaluate/compression.h"

#include "base/files.h"
#include "base/random.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

std::string noise_of(std::size_t bytes, std::uint64_t seed = 6) {
  RandomStream random(seed, Purpose::windows);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  return noise;
}

constexpr std::string_view verse =
    "she sells sea shells by the sea shore; the shells she sells are sea shells for sure";

}  // namespace

// Sizes of the packed stream: `7z a -m0=PPMd:o=6:mem=16m` and `7z l -slt` (26.02), and pyppmd.Ppmd7Encoder(6, 16 <<
// 20).

TEST_CASE("PPMd gives the sizes that 7z gives") {
  CHECK(ppmd_bytes("a") == 6);
  CHECK(ppmd_bytes(verse) == 41);
}

TEST_CASE("PPMd of tinyshakespeare, whole and its train split, gives the sizes that 7z gives") {
  NEEDS_TINYSHAKESPEARE();
  const std::string text = read_file(tinyshakespeare_path());
  CHECK(ppmd_bytes(text) == 291426);
  CHECK(ppmd_bytes(std::string_view(text).substr(0, 1'003'854)) == 263140);
}

TEST_CASE("PPMd learns from the text before") {
  const std::string noise = noise_of(20'000);
  const std::int64_t once = ppmd_bytes(noise);
  CHECK(once > 20'000);
  CHECK(ppmd_bytes(noise + noise) < once + 100);
}

TEST_CASE("PPMd has the same memory for a text of any length: a long one fills it, and it forgets", "[long]") {
  const std::string little = noise_of(20'000), much = noise_of(2'200'000, 7);
  CHECK(ppmd_bytes(little + much + little) > ppmd_bytes(little + much) + 20'000);
}

TEST_CASE("PPMd ends between two parts of its work where the heartbeat throws") {
  CHECK_THROWS_AS(ppmd_bytes(std::string(300'000, 'a') + "b",
                             [](double part) {
                               if (part > 0.5) throw Interrupted{};
                             }),
                  Interrupted);
}

}  // namespace chargpt

/// libarchive frees what it opened when it closes an archive, and does not close one that has failed.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:archive_write_client_open\n";
}
