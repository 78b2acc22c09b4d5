// The axes and sizes of a call of resize, for all devices.
#pragma once
#include <numeric>
#include <tenon/elementwise/convert.hpp>
#include <vector>

#include "resize.hpp"
#include "shared/store.hpp"

namespace resizing {

/// The axes of a call in memory order. Axis: ResizeAxis or AxisTaps.
template <class Axis>
struct Plan {
  std::vector<Axis> axes;
  std::vector<std::int64_t> in, out;

  static std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin,
                              std::size_t end) {
    return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                           dims.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                           std::multiplies<>());
  }
};

template <class Axis>
Plan<Axis> plan_of(const Resize& op, const tenon::Call& call, const tenon::Shape& data,
                   const tenon::Shape& output, bool channels_last) {
  Resize::RequestedSizes requested{op.size, op.scale};
  const auto read = [&](const char* name) {
    return call.has_input(name) && call.input_bytes(name[0] == 'r'   ? 3
                                                    : name[1] == 'i' ? 1
                                                                     : 2) > 0;
  };
  if (read("sizes")) {
    const auto sizes = call.input<std::int64_t>("sizes");
    requested.size = tenon::Ints(sizes.data(), static_cast<std::size_t>(sizes.size()));
  }
  if (read("scales")) {
    const auto scales = call.input<float>("scales");
    double wide[8];
    std::copy_n(scales.data(), scales.size(), wide);
    requested.scale = tenon::Floats(wide, static_cast<std::size_t>(scales.size()));
  }
  auto sizes = op.sizes_of(data, requested);
  if (read("roi") && op.coordinates == Coordinates::tf_crop_and_resize) {
    const auto roi = call.input<float>("roi");
    const auto count = op.axes.size() > 0 ? static_cast<std::int64_t>(op.axes.size()) : data.rank();
    if (roi.size() != 2 * count)
      throw tenon::Error("roi has ", roi.size(), " elements, but ", count, " axes need ",
                         2 * count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto axis = op.axes.size() > 0 ? op.axes[static_cast<std::size_t>(i)] : i;
      auto& along = sizes[static_cast<std::size_t>(axis < 0 ? axis + data.rank() : axis)];
      along.begin = roi[i], along.end = roi[count + i];
    }
  }
  const Rules rules{op.method,          op.coordinates,
                    op.rounding,        op.antialias && op.method != Method::nearest,
                    op.exclude_outside, op.cubic_coefficient};
  Plan<Axis> plan;
  for (int i = 0; i < data.rank(); ++i) {
    const int axis = !channels_last || i == 0 ? i : i == data.rank() - 1 ? 1 : i + 1;
    plan.axes.emplace_back(sizes[static_cast<std::size_t>(axis)], rules);
    plan.in.push_back(data[axis]);
    plan.out.push_back(output[axis]);
  }
  return plan;
}

/// The type of the computation for elements of type T.
template <class T>
using Computed =
    std::conditional_t<std::is_same_v<T, double> || std::is_integral_v<T>, double, float>;

template <class T, class W>
TENON_FN T rounded(W value) {
  if constexpr (std::is_integral_v<T>) {
    using tenon::elementwise::min_value, tenon::elementwise::max_value;
    const auto whole = std::nearbyint(static_cast<double>(value));
    if (!(whole > static_cast<double>(min_value<T>))) return min_value<T>;
    return whole < static_cast<double>(max_value<T>) ? static_cast<T>(whole) : max_value<T>;
  } else {
    return T(value);
  }
}

}  // namespace resizing

inline Resize::AxisSizes Resize::sizes_of(const tenon::Shape& data,
                                          const RequestedSizes& requested) const {
  AxisSizes sizes;
  const auto rank = data.rank();
  const auto count = axes.size() > 0 ? axes.size() : static_cast<std::size_t>(rank);
  if (requested.size.size() > 0 && requested.scale.size() > 0)
    throw tenon::Error("has both size and scale: needs only one of them");
  const bool by_size = requested.size.size() > 0 || requested.scale.size() == 0;
  const auto numbers = by_size ? requested.size.size() : requested.scale.size();
  if (numbers != count)
    throw tenon::Error(by_size ? "size" : "scale", " has ", numbers, " values, but there are ",
                       count, " axes");
  for (int axis = 0; axis < rank; ++axis) {
    auto& along = sizes[static_cast<std::size_t>(axis)];
    along.in = along.out = data[axis];
  }
  double common = 0;
  unsigned seen = 0;
  const auto at = [&](std::size_t i) {
    const auto axis = axes.size() > 0 ? axes[i] : static_cast<std::int64_t>(i);
    if (axis < -rank || axis >= rank)
      throw tenon::Error("axes contains ", axis, ", but data has ", rank, " dimensions");
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  };
  for (std::size_t i = 0; i < count; ++i) {
    auto& along = sizes[at(i)];
    if (seen >> at(i) & 1) throw tenon::Error("axes names axis ", at(i), " twice");
    seen |= 1u << at(i);
    const auto in = static_cast<double>(along.in);
    if (by_size && requested.size[i] < 0)
      throw tenon::Error("size is ", requested.size[i], ": needs 0 or more");
    if (!by_size && !(requested.scale[i] > 0 && requested.scale[i] * in < 1e15))
      throw tenon::Error("scale is ", requested.scale[i], ": needs a positive number");
    along.out = by_size ? requested.size[i] : static_cast<std::int64_t>(requested.scale[i] * in);
    along.scale = !by_size       ? requested.scale[i]
                  : along.in > 0 ? static_cast<double>(along.out) / in
                                 : 1;
    if (along.in == 0 && along.out > 0)
      throw tenon::Error("data is ", data, ": an empty axis cannot be resized to ", along.out,
                         " elements");
    const bool larger =
        i == 0 || (aspect == Aspect::not_larger ? along.scale < common : along.scale > common);
    if (larger) common = along.scale;
    if (region.size() == 2 * count)
      along.begin = static_cast<float>(region[i]),
      along.end = static_cast<float>(region[count + i]);
  }
  if (region.size() > 0 && region.size() != 2 * count)
    throw tenon::Error("region has ", region.size(), " values, but ", count, " axes need ",
                       2 * count);
  for (std::size_t i = 0; i < count && by_size && aspect != Aspect::stretch; ++i) {
    auto& along = sizes[at(i)];
    along.scale = common;
    along.out = static_cast<std::int64_t>(common * static_cast<double>(along.in) + 0.5);
  }
  return sizes;
}

inline void Resize::infer(tenon::Infer& io) const {
  const auto data = io.input("data");
  if (antialias && method == resizing::Method::nearest)
    io.param_error("antialias", "is set, but method is nearest: needs linear or cubic");
  const auto sizes =
      io.has_input("sizes") ? io.values<std::int64_t>("sizes") : tenon::Known<std::int64_t>();
  const auto scales = io.has_input("scales") ? io.values<float>("scales") : tenon::Known<float>();
  for (const char* name : {"sizes", "scales", "roi"})
    if (io.has_input(name)) io.set_input(name, {tenon::unknown});
  // an empty input counts as absent, as in opset 11
  const auto has = [&](const char* name) {
    return io.has_input(name) && io.input(name).shape[0] != 0;
  };
  const int ways = (size.size() > 0) + (scale.size() > 0) + has("sizes") + has("scales");
  io.require(ways == 1, "has ", ways,
             " of size, scale, sizes and scales: needs exactly one of them");
  if (!data.shape.has_rank()) return;
  auto output = tenon::Shape::of_rank(data.shape.rank());
  io.set_output(0, output);
  if ((has("sizes") && !sizes) || (has("scales") && !scales)) return;
  io.require(sizes.size() <= 8 && scales.size() <= 8, "sizes has ", sizes.size(),
             " and scales has ", scales.size(), " elements: needs at most 8");
  RequestedSizes requested{size, scale};
  if (has("sizes"))
    requested.size = tenon::Ints(sizes.begin(), static_cast<std::size_t>(sizes.size()));
  double wide[8];
  if (has("scales"))
    requested.scale = tenon::Floats((std::copy(scales.begin(), scales.end(), wide), wide),
                                    static_cast<std::size_t>(scales.size()));
  auto known = data.shape;
  for (int axis = 0; axis < known.rank(); ++axis)
    if (known[axis] == tenon::unknown) known.set(axis, 1);
  const bool whole = data.shape.known();
  AxisSizes found;
  try {
    found = sizes_of(known, requested);
  } catch (const std::exception& reason) {
    io.require(!whole, reason.what());
    return;
  }
  for (int axis = 0; axis < known.rank(); ++axis) {
    const bool follows = data.shape[axis] != tenon::unknown && (whole || aspect == Aspect::stretch);
    const bool only_size =
        requested.size.size() > 0 && aspect == Aspect::stretch && axes.size() == 0;
    if (follows || only_size) output.set(axis, found[static_cast<std::size_t>(axis)].out);
  }
  io.set_output(0, output);
}
