#include "run/kept_figures.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/open_folder.h"
#include "run/run_folder.h"

namespace chargpt {

nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint) {
  using Json = nlohmann::ordered_json;
  constexpr std::uint64_t longest = 1 << 20;
  try {
    const Json figures = Json::parse(OpenFolder(run_place(checkpoint.path, "best").run).read("figures.json", longest),
                                     nullptr, /*allow_exceptions=*/false);
    const Json about = figures.is_object() ? figures.value("checkpoint", Json()) : Json();
    if (about.is_object() && about.value("step", Json()) == checkpoint.state.step) return figures;
  } catch (const Error&) {
  }
  return nullptr;
}

}  // namespace chargpt
