// What the presets reached where they were measured: configs/expected.json, compiled into the program. Knows no model.
#pragma once

#include <string_view>

namespace chargpt {

/// The file as scripts/measure/presets.py wrote it:
/// {"version","defaults","machines":{name:{…}},"rows":{preset:{"config",
/// "loss","ci95":[low,high],"seconds","params","runs":[…],"date","machine"} or {"config","not_measured"}}}.
std::string_view expected_figures();

}  // namespace chargpt
