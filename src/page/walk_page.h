// A web page that walks a window through a model, one operation under the other, its matrix as a picture. Knows no
// model.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace chargpt {

struct WalkStep {
  std::string part;  ///< "layer 1"; a heading where it changes
  std::string name, formula, sizes, remark;
  std::vector<std::string> rows, columns;  ///< labels; no columns: they have none
  std::span<const float> values;           ///< (rows, any number of columns)
  std::string attention;                   ///< SVG of who looks at whom; empty: none
};

/// A whole document, light and dark.
std::string walk_page(const std::string& title, const std::string& introduction, const std::vector<WalkStep>& steps);

}  // namespace chargpt
