// Options of commands that decode: what to drop when a text outgrows the window, and unknown characters.
#pragma once

#include <string>

#include "cli/options.h"
#include "predict/network.h"
#include "text/vocabulary.h"

namespace chargpt {

/// --context
void add_context_option(Options& options, Context& context);
/// --counts
void add_counts_option(Options& options, bool& counts);
/// --adapt
void add_adapt_option(Options& options, bool& adapt);
/// --unknown: error, skip or replace; `which` characters.
void add_unknown_option(Options& options, UnknownPolicy& policy, const std::string& which);
/// As the options take them.
std::string context_name(Context context);

}  // namespace chargpt
