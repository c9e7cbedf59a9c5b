// RUN/figures.json, hostile until read. Knows no figure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// What it holds, where it is an object that tells of this checkpoint's step; else null. Never an Error: figures that
/// cannot be read are only left out.
nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint);

}  // namespace chargpt
