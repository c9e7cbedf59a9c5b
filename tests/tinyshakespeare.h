// Cases that need data/tinyshakespeare.txt, and its corpus, split as by default. Where the text is not there they end
// at once, in a line that scripts/test.sh counts: a case that does not run is never silent.
#pragma once

#include <cstdio>
#include <filesystem>

#include "source_path.h"
#include "test.h"
#include "text/corpus.h"

namespace chargpt {

inline std::string tinyshakespeare_path() {
  return source_path("/data/tinyshakespeare.txt");
}

/// Whether the text is there; where not, says that the current case is skipped, and why.
inline bool tinyshakespeare_is_there() {
  if (std::filesystem::exists(tinyshakespeare_path())) return true;
  const std::string name(Catch::getResultCapture().getCurrentTestName());
  std::printf("skipped because data/tinyshakespeare.txt is not there: %s\n", name.c_str());
  return false;
}

/// Read once by each test program that asks for it; scripts/get_text.sh fetches the text.
inline const Corpus& tinyshakespeare() {
  static const Corpus corpus = [] {
    DataConfig data;
    data.text = {tinyshakespeare_path()};
    return load_corpus(data);
  }();
  return corpus;
}

}  // namespace chargpt

/// First line of a case.
#define NEEDS_TINYSHAKESPEARE() \
  if (!chargpt::tinyshakespeare_is_there()) return
