// Options that control a session's optimization of the graph.
#pragma once
#include <tenon/host/optimize.hpp>
#include <vector>

#include "cli/command.hpp"

namespace tenon::cli {

/// Options of read_optimize(), for the commands' descriptions.
std::vector<Option> optimize_options();
/// Throws Failure (usage) if both options are given.
Optimize read_optimize(const Arguments& arguments);

/// --precision; f32 by default.
Option precision_option();
DType read_precision(const Arguments& arguments);

}  // namespace tenon::cli
