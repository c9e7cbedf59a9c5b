// A text whose symbols are coloured by how much they surprised a model. Knows no model.
#pragma once

#include <string>
#include <vector>

namespace chargpt {

struct ScoredSymbol {
  std::string symbol;  ///< UTF-8
  double loss = 0;     ///< nats
};

/// For a terminal: black on yellow to red from 0.7 nats on (half as likely as not), below that as it is. What a
/// terminal would obey is shown escaped.
std::string colored_by_surprise(const std::vector<ScoredSymbol>& symbols);

/// Elements of HTML, each symbol escaped; classes s1 to s4 from 0.7, 1.6, 3 and 5 nats on.
std::string marked_by_surprise(const std::vector<ScoredSymbol>& symbols);

}  // namespace chargpt
