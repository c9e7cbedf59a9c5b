// One HTML file of runs and a model, for any browser: no server, no network. Knows no run and no weight; what it shows
// comes as JSON (run_data.h, model_data.h), and the files of browser/ draw it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/charts/surprise.h"

namespace chargpt {

/// What every page of this program begins with.
inline constexpr std::string_view page_mark = "<!DOCTYPE html>\n<!-- chargpt page -->\n";

/// A page to its heading: what follows is its body, up to `</html>`. `policy`: what it may load
/// (Content-Security-Policy).
std::string page_beginning(const std::string& title, std::string_view style, std::string_view policy);

/// `data`: {"title", "subtitle", "version", "runs", "baselines", "verdict", "model" or null}. No text in it can end the
/// element that holds it.
std::string page_html(const nlohmann::ordered_json& data);

/// A page of one text, coloured by surprise, light and dark, without scripts; pointing at a character shows its loss.
std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols);

/// Writes it whole, in place of a page that this program wrote before. Errors: busy where something else has the name;
/// io.
void write_page(const std::filesystem::path& path, std::string_view html);

// Files of browser/, compiled in by scripts/cmake/EmbedText.cmake.
std::string_view page_template();
std::string_view page_style();
std::string_view page_script();
std::string_view page_model_script();

}  // namespace chargpt
