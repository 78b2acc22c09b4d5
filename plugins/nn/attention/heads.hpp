// Memory layout of attention's operands, for all devices.
#pragma once
#include <limits>

#include "attention.hpp"

namespace attention {

/// Added to the scores of masked keys. A variable, so that device code can use it.
template <class W>
inline constexpr W never = -std::numeric_limits<W>::infinity();

/// Memory layout of a head's rows: [batch, heads, rows, size] or [batch, rows, heads, size].
struct Heads {
  std::int64_t heads, rows, size;
  bool flat;

  TENON_FN std::int64_t at(std::int64_t sample, std::int64_t head, std::int64_t row) const {
    return (flat ? (sample * rows + row) * heads + head : (sample * heads + head) * rows + row) *
           size;
  }
};

/// Maps a score to the mask element that is added to it. The mask broadcasts, and may have fewer
/// keys than there are.
struct MaskIndexing {
  std::int64_t strides[3] = {0, 0, 0}, keys = 0;  ///< strides of batch, head and query
  bool present = false, one = false;              ///< one: a single element for all keys

  static MaskIndexing of(const tenon::Call& call, std::int64_t all) {
    MaskIndexing mask;
    mask.present = call.has_input("mask");
    if (!mask.present) return mask;
    const auto shape = call.input_type(3).shape;
    mask.keys = shape[-1];
    mask.one = mask.keys == 1 && all != 1;
    std::int64_t stride = mask.keys;
    for (int axis = shape.rank() - 2, to = 2; axis >= 0; --axis, --to) {
      mask.strides[to] = shape[axis] == 1 ? 0 : stride;
      stride *= shape[axis];
    }
    return mask;
  }
  TENON_FN bool ends_at_or_before(std::int64_t key) const { return !one && key >= keys; }
  TENON_FN std::int64_t at(std::int64_t sample, std::int64_t head, std::int64_t query,
                           std::int64_t key) const {
    return sample * strides[0] + head * strides[1] + query * strides[2] + (one ? 0 : key);
  }
};

}  // namespace attention
