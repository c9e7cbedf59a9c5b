// Options of commands that decode: what weights are kept as, and what a text loses that outgrows the window.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "generate/generate.h"
#include "model/storage.h"

namespace chargpt {

/// --storage
void add_storage_option(CLI::App& app, Storage& storage);
/// --context
void add_context_option(CLI::App& app, Context& context);
/// As the options take them.
std::string context_name(Context context);
std::string storage_name(Storage storage);

}  // namespace chargpt
