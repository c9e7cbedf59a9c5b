// The worked examples of the teaching notebook on its text; scripts/get_text.sh fetches it.
#include "tinyshakespeare.h"
#include "base/files.h"
#include "failure.h"
#include "needs_text.h"
#include "test.h"
#include "text/corpus.h"

namespace chargpt {
namespace {

using Ids = std::vector<std::int64_t>;

Ids window(std::int64_t begin, std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  tinyshakespeare().train().copy(begin, count, ids.data());
  return ids;
}

}  // namespace

TEST_CASE("B01: the vocabulary of tinyshakespeare, and a greeting in it") {
  NEEDS_TINYSHAKESPEARE();
  const Vocabulary& vocabulary = tinyshakespeare().vocabulary();
  CHECK(tinyshakespeare().all().size() == 1115394);
  CHECK(vocabulary.size() == 65);
  std::string symbols;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) symbols += vocabulary.symbol(id);
  CHECK(symbols == "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  CHECK(vocabulary.encode("hi there!", "text") == Ids{46, 47, 1, 58, 46, 43, 56, 43, 2});
  CHECK(vocabulary.decode({46, 47, 1, 58, 46, 43, 56, 43, 2}) == "hi there!");
  CHECK(tinyshakespeare().train().size() == 1003854);
  CHECK(tinyshakespeare().val().size() == 111540);
}

TEST_CASE("B02: the first window of tinyshakespeare") {
  NEEDS_TINYSHAKESPEARE();
  CHECK(window(0, 9) == Ids{18, 47, 56, 57, 58, 1, 15, 47, 58});
  CHECK(tinyshakespeare().vocabulary().decode(window(0, 9)) == "First Cit");
}

TEST_CASE("B03: the windows at the notebook's offsets, inputs and targets") {
  NEEDS_TINYSHAKESPEARE();
  const auto inputs_and_targets = [](std::int64_t offset) {
    return std::pair(window(offset, 8), window(offset + 1, 8));
  };
  CHECK(inputs_and_targets(76049) == std::pair(Ids{24, 43, 58, 5, 57, 1, 46, 43}, Ids{43, 58, 5, 57, 1, 46, 43, 39}));
  CHECK(inputs_and_targets(234249) == std::pair(Ids{44, 53, 56, 1, 58, 46, 39, 58}, Ids{53, 56, 1, 58, 46, 39, 58, 1}));
  CHECK(inputs_and_targets(934904) == std::pair(Ids{52, 58, 1, 58, 46, 39, 58, 1}, Ids{58, 1, 58, 46, 39, 58, 1, 46}));
  CHECK(inputs_and_targets(560986) == std::pair(Ids{25, 17, 27, 10, 0, 21, 1, 54}, Ids{17, 27, 10, 0, 21, 1, 54, 39}));
}

TEST_CASE("decoding the ids of tinyshakespeare gives the file back") {
  NEEDS_TINYSHAKESPEARE();
  Ids ids(static_cast<std::size_t>(tinyshakespeare().all().size()));
  tinyshakespeare().all().copy(0, tinyshakespeare().all().size(), ids.data());
  CHECK((tinyshakespeare().vocabulary().decode(ids) == read_file(tinyshakespeare_path())));
}

}  // namespace chargpt
