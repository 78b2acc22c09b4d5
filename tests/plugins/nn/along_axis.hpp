// Iteration along one axis for oracles: the indices of the elements that an operator treats
// together.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/array.hpp"

/// For each combination of the other indices, the flat indices of the elements along `axis` (from
/// `axis` to the last one if `to_last`).
inline std::vector<std::vector<std::int64_t>> along_axis(const tenon::Shape& shape, int axis,
                                                         bool to_last = false) {
  if (axis < 0) axis += shape.rank();
  std::int64_t inner = 1, length = shape[axis], outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) (to_last ? length : inner) *= shape[i];
  std::vector<std::vector<std::int64_t>> runs;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      auto& run = runs.emplace_back();
      for (std::int64_t j = 0; j < length; ++j) run.push_back((o * length + j) * inner + i);
    }
  return runs;
}
