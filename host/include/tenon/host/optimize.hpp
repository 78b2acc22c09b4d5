// How far a session may optimize its graph before running it.
#pragma once
#include <cstdint>

namespace tenon {

/// Training sessions never rewrite their graphs, whatever this level allows.
enum class Optimize : std::uint8_t {
  /// also optimizations that may change rounding: operators' rewrite rules, such as fused steps,
  /// and layouts
  full,
  exact,  ///< only bit-exact optimizations, such as fusing neighbouring elementwise nodes
  none,   ///< the original graph
};

}  // namespace tenon
