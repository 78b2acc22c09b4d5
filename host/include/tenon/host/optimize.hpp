// How much a session may do to its graph before running it.
#pragma once
#include <cstdint>

namespace tenon {

/// Sessions that train run their graphs as written, whatever this says of rewriting.
enum class Optimize : std::uint8_t {
  full,   ///< also what changes results by rounding: rules of operators, such as fused steps, and layouts
  exact,  ///< only what changes no bit of the results, such as neighbouring element-wise nodes in one step
  none,   ///< the graph as written
};

}  // namespace tenon
