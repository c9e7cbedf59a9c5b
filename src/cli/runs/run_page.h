// The web page of runs that `page` and `compare --page` write: what the runs' files tell, and the model of one of them.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/runs/loaded_run.h"
#include "page/page_data.h"

namespace chargpt {

/// The model that writes in the page.
struct PageModel {
  std::string run;         ///< run folder, or one checkpoint folder in it
  std::string checkpoint;  ///< of a run: best, last or step-N; empty: best
  std::string prompt;      ///< that the page opens with
  ModelUse use = {};
};

/// The HTML file; `runs` are folders, none twice. Without a model the page says that it was written so. Notices go to
/// stderr. `checkpoint`: becomes the checkpoint_json() of the model. Errors: as load_run; usage for a model of more
/// than most_page_parameters and a prompt that it cannot read. `comparison`: as to_json() has it, shown above all else;
/// null: none.
std::string page_of_runs(const std::vector<std::filesystem::path>& runs, const std::optional<PageModel>& model,
                         const nlohmann::ordered_json* comparison = nullptr,
                         nlohmann::ordered_json* checkpoint = nullptr);

}  // namespace chargpt
