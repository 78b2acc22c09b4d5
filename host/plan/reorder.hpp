// Converts between plain and channels-last layout.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Returns an internal operator that never appears in original graphs. It copies a dense tensor of
/// rank 3 to 5 between any combination of plain and channels-last.
const LoadedOperator& reorder_operator();

}  // namespace tenon
