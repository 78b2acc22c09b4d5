// Reads a tensor of indices of any integral dtype, and rejects indices out of range.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/operator.hpp>
#include <vector>

/// The position of element `i` of a tensor as text, such as [2, 0].
inline std::string position(const tenon::Shape& shape, std::int64_t i) {
  std::string text = "]";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text.insert(0, std::to_string(i % shape[axis]));
    if (axis > 0) text.insert(0, ", ");
    i /= shape[axis];
  }
  return "[" + text;
}

/// All elements of input `input`, each in [0, limit). `name` and `target` are for the error, such
/// as "labels" and "classes".
inline std::vector<std::int64_t> read_indices(const tenon::Call& call, int input,
                                              std::int64_t limit, std::string_view name,
                                              std::string_view target) {
  std::vector<std::int64_t> indices;
  const auto type = call.input_type(input);
  tenon::visit<tenon::integral>(type.dtype, [&]<class T>() {
    const auto view = call.input<T>(input);
    indices.assign(view.begin(), view.end());
  });
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || indices[i] >= limit)
      throw tenon::Error(name, position(type.shape, static_cast<std::int64_t>(i)), " is ",
                         indices[i], ", but there are ", limit, " ", target, ": needs 0 to ",
                         limit - 1);
  return indices;
}
