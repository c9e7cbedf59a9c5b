// Where the sources lie, for tests that read a file of theirs: told to one file alone, so that the others compile to
// the same objects in every checkout.
#pragma once

#include <string>

namespace chargpt {

/// source_path("/data/sample.txt"): that file of the checkout.
std::string source_path(const std::string& file);

}  // namespace chargpt
