// The step that brings a value into another layout.
#pragma once
#include "plugin/plugin_set.hpp"

namespace tenon {

/// An operator of the host's own that no graph names: it copies a dense tensor of rank 3 to 5, plain or channels-last as each of the two
/// is.
const LoadedOperator& reorder_operator();

}  // namespace tenon
