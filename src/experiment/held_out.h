// A text to choose by that no result is measured on. Knows no model.
#pragma once

#include "text/corpus.h"

namespace chargpt {

/// The train split as a corpus of its own, whose last part is held out: as large a part as the validation split is, or
/// a tenth where there is none.
Corpus train_split_of(const Corpus& corpus);

}  // namespace chargpt
