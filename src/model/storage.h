// What a model's matrices are kept as once it is trained. Knows no file and no engine.
#pragma once

#include "model/language_model.h"

namespace chargpt {

/// bfloat16: the upper half of a float32, 8 bits of precision.
enum class Storage { float32, bfloat16 };

/// Rounds every parameter of two or more dimensions to that type, to nearest, ties to even; its tensors stay float32,
/// so that whatever computes with the model sees the same numbers. Shapes and device stay.
void round_matrices(LanguageModel& model, Storage storage);

}  // namespace chargpt
