// How much a command lets its session do to the graph.
#pragma once
#include <tenon/host/optimize.hpp>
#include <vector>

#include "cli/command.hpp"

namespace tenon::cli {

/// The options that read_optimize() reads, for the commands' descriptions.
std::vector<Option> optimize_options();
/// Throws Failure (usage) where both options are given.
Optimize read_optimize(const Arguments& arguments);

/// --precision, and what it says: f32 without it.
Option precision_option();
DType read_precision(const Arguments& arguments);

}  // namespace tenon::cli
