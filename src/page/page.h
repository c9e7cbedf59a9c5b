// HTML files for any browser, without server and network: of runs and a model, of a text, of a walk through a model.
// What a page of runs shows comes as JSON (page_data.h), and the files of browser/ draw it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/charts/heat_map.h"

namespace chargpt {

/// `data`: {"title", "subtitle", "version", "runs", "baselines", "verdict", "model" or null}. No text in it can end the
/// element that holds it.
std::string page_html(const nlohmann::ordered_json& data);

/// A page of one text, coloured by surprise, light and dark, without scripts; pointing at a character shows its loss.
std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols);

struct WalkStep {
  std::string part;  ///< "layer 1"; a heading where it changes
  std::string name, formula, sizes, remark;
  std::vector<std::string> rows, columns;  ///< labels; no columns: they have none
  std::span<const float> values;           ///< (rows, any number of columns)
  std::string attention;                   ///< SVG of who looks at whom; empty: none
};

/// A page that walks a window through a model, one operation under the other, its matrix as a picture; light and dark.
std::string walk_page(const std::string& title, const std::string& introduction, const std::vector<WalkStep>& steps);

/// Writes it whole, in place of a page that this program wrote before. Errors: busy where something else has the name;
/// io.
void write_page(const std::filesystem::path& path, std::string_view html);

}  // namespace chargpt
