// Options of commands that decode: the type that weights are kept in, and what to drop when a text outgrows the window.
#pragma once

#include <string>

#include "cli/options.h"
#include "generate/generate.h"
#include "inference/model.h"
#include "text/vocabulary.h"

namespace chargpt {

/// --storage
void add_storage_option(Options& options, Storage& storage);
/// --context
void add_context_option(Options& options, Context& context);
/// --unknown: error, skip or replace; `which` characters.
void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which);
/// As the options take them.
std::string context_name(Context context);
std::string storage_name(Storage storage);

}  // namespace chargpt
