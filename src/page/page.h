// HTML pages that need no server or network: runs with a model, a scored text, a walk through a model. The data of a
// page of runs is JSON (page_data.h); the files of browser/ draw it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/charts/heat_map.h"

namespace chargpt {

/// Makes the page of runs. `data`: {"title", "version", "runs", "baselines", "verdict", "model" or null},
/// escaped so that its texts cannot end the script element.
std::string page_html(const nlohmann::ordered_json& data);

/// A page of one text, coloured by loss, light and dark, without scripts; pointing at a character shows its loss.
std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols);

/// A matrix that a page draws as a picture.
struct Matrix {
  std::vector<std::string> rows, columns;  ///< labels; `columns` may be empty
  std::span<const float> values;           ///< (rows, any number of columns)
  double row_height = 18;                  ///< CSS pixels; at least 18 if rows have labels
};

struct WalkStep {
  std::string part;  ///< "layer 1"; a heading when it changes
  std::string name, formula, sizes, remark;
  Matrix matrix;
  std::vector<Matrix> heads = {};  ///< attention weights (T, T) of each head
};

/// A page of the operations of a model on one window, each with its matrices as pictures; light and dark.
std::string walk_page(const std::string& title, const std::string& introduction, const std::vector<WalkStep>& steps);

/// Writes the page atomically and replaces an earlier page of this program. Throws Error busy if `path` is another
/// file, io if writing fails.
void write_page(const std::filesystem::path& path, std::string_view html);

}  // namespace chargpt
