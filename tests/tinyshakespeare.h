// The corpus of tinyshakespeare, split as by default, for cases that open with NEEDS_TINYSHAKESPEARE (needs_text.h).
#pragma once

#include "needs_text.h"
#include "text/corpus.h"

namespace chargpt {

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
