// What the folder of a checkpoint is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chargpt {

/// 2000 -> "step-00002000"
std::string checkpoint_name(std::int64_t step);
/// The step of such a name; none for any other text.
std::optional<std::int64_t> checkpoint_step(std::string_view name);

}  // namespace chargpt
