// Iteration over a convolution or pooling for oracles: every output position with every tap of its
// window, over 1 to 3 spatial axes.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "plugins/array.hpp"

/// A parameter with a value for each axis, one for all axes, or none.
inline Integers for_each_axis(const Integers& given, const Integers& otherwise) {
  if (given.empty()) return otherwise;
  return given.size() == otherwise.size() ? given : Integers(otherwise.size(), given[0]);
}

struct Sliding {
  std::vector<std::int64_t> kernel, stride, pad, dilate;

  std::int64_t places(std::size_t axis, std::int64_t size) const {
    return (size + 2 * pad[axis] - dilate[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }

  tenon::Shape output(const tenon::Shape& data, std::int64_t channels) const {
    auto shape = data;
    shape.set(1, channels);
    for (std::size_t axis = 0; axis < kernel.size(); ++axis)
      shape.set(static_cast<int>(axis) + 2, places(axis, data[static_cast<int>(axis) + 2]));
    return shape;
  }

  /// Calls body(place, element, at) for each output position of one channel (in row-major order)
  /// and each tap of the kernel, with the index in the channel of the element below the tap; -1 in
  /// the padding.
  template <class Body>
  void for_each(const tenon::Shape& data, Body&& body) const {
    std::array<std::int64_t, 3> size{1, 1, 1}, out{1, 1, 1}, k{1, 1, 1}, s{1, 1, 1}, p{},
        d{1, 1, 1};
    for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
      size[axis] = data[static_cast<int>(axis) + 2];
      out[axis] = places(axis, size[axis]);
      k[axis] = kernel[axis], s[axis] = stride[axis], p[axis] = pad[axis], d[axis] = dilate[axis];
    }
    for (std::int64_t place = 0; place < out[0] * out[1] * out[2]; ++place)
      for (std::int64_t element = 0; element < k[0] * k[1] * k[2]; ++element) {
        const std::array<std::int64_t, 3> at_place{place / out[2] / out[1], place / out[2] % out[1],
                                                   place % out[2]};
        const std::array<std::int64_t, 3> at_element{element / k[2] / k[1], element / k[2] % k[1],
                                                     element % k[2]};
        std::int64_t at = 0;
        for (std::size_t axis = 0; axis < 3 && at >= 0; ++axis) {
          const auto index = at_place[axis] * s[axis] - p[axis] + at_element[axis] * d[axis];
          at = index < 0 || index >= size[axis] ? -1 : at * size[axis] + index;
        }
        body(place, element, at);
      }
  }
};

/// Number of elements in one channel of one sample.
inline std::int64_t channel_size(const tenon::Shape& data) {
  std::int64_t size = 1;
  for (int axis = 2; axis < data.rank(); ++axis) size *= data[axis];
  return size;
}
