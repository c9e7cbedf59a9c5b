// A web page of one text, coloured by surprise. Knows no model.
#pragma once

#include <string>
#include <vector>

#include "report/charts/surprise.h"

namespace chargpt {

/// A whole document, light and dark, without scripts; pointing at a character shows its loss.
std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols);

}  // namespace chargpt
