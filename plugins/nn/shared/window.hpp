// The sliding window of a convolution or pooling over 1 to 3 spatial axes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <tenon/operator.hpp>

/// Padding of data: `pad` and `pad_end`, or the amount that gives ceil(axis / stride) output
/// positions. If that is odd, `same_upper` puts the larger half after data and `same_lower` before
/// it.
enum class Padding { from_parameters, same_upper, same_lower };

struct Window {
  using Numbers = std::array<std::int64_t, 3>;
  static constexpr std::int64_t max_number =
      65535;  // limit of each number, so that products do not overflow

  int axes = 0;
  Numbers kernel{}, stride{}, pad{}, dilate{};
  Numbers pad_end = pad;  ///< padding after data; pad is before it

  /// Values for each axis: a list with a single value applies to all axes, an empty one selects the
  /// fallback.
  static Numbers numbers(const tenon::Ints& list, int axes, Numbers fallback) {
    for (int axis = 0; axis < axes && list.size() > 0; ++axis)
      fallback[static_cast<std::size_t>(axis)] =
          list[list.size() == 1 ? 0 : static_cast<std::size_t>(axis)];
    return fallback;
  }

  /// Extent of the dilated kernel along an axis, in elements.
  std::int64_t reach(int axis) const { return dilate[at(axis)] * (kernel[at(axis)] - 1) + 1; }
  std::int64_t padded(int axis, std::int64_t size) const {
    return size + pad[at(axis)] + pad_end[at(axis)];
  }

  /// Output positions along an axis of `size` elements. Needs reach <= padded.
  std::int64_t output_size(int axis, std::int64_t size) const {
    return (padded(axis, size) - reach(axis)) / stride[at(axis)] + 1;
  }

  /// Returns this window with padding. Axes of unknown size get none.
  Window with_padding(Padding mode, const tenon::Ints& begin, const tenon::Ints& end,
                      const tenon::Shape& data) const {
    auto padded = *this;
    padded.pad = numbers(begin, axes, {0, 0, 0});
    padded.pad_end = numbers(end, axes, padded.pad);
    for (int axis = 0; axis < axes && mode != Padding::from_parameters; ++axis) {
      const auto size = data.rank() > axis + 2 ? data[axis + 2]
                                               : tenon::unknown;  // other ranks are rejected later
      const auto step = stride[at(axis)];
      const auto all = size == tenon::unknown
                           ? 0
                           : std::max<std::int64_t>(
                                 ((size + step - 1) / step - 1) * step + reach(axis) - size, 0);
      padded.pad[at(axis)] = mode == Padding::same_upper ? all / 2 : all - all / 2;
      padded.pad_end[at(axis)] = all - padded.pad[at(axis)];
    }
    return padded;
  }

 private:
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
};

/// Rejects a list that has neither one value nor one for each axis of the kernel.
inline void require_numbers(const tenon::Infer& io, const char* name, const tenon::Ints& list,
                            std::size_t axes) {
  if (list.size() > 1 && list.size() != axes)
    io.param_error(name, "has ", list.size(), " values, but kernel has ", axes,
                   ": needs one for each spatial axis, or one for all");
}

/// Describes the padding parameters.
template <class Layer>
constexpr void describe_padding(auto& op, const char* pad) {
  op.param("pad", &Layer::pad, pad).at_least(0).at_most(Window::max_number);
  op.param("pad_end", &Layer::pad_end,
           "padding after each spatial axis; one value applies to all axes; default: same as `pad`")
      .at_least(0)
      .at_most(Window::max_number);
  op.param("pad_mode", &Layer::pad_mode,
           "padding mode, as ONNX's auto_pad: given: explicit padding by `pad` and `pad_end` "
           "(NOTSET); same_upper, same_lower: padding for ceil(axis / stride) output positions, "
           "with the larger half after data (same_upper) or before it (same_lower)")
      .one_of({{"given", Padding::from_parameters},
               {"same_upper", Padding::same_upper},
               {"same_lower", Padding::same_lower}});
}

inline void require_padding(const tenon::Infer& io, Padding mode, const tenon::Ints& pad,
                            const tenon::Ints& pad_end, std::size_t axes) {
  require_numbers(io, "pad", pad, axes);
  require_numbers(io, "pad_end", pad_end, axes);
  const auto zero = [](const tenon::Ints& list) {
    return std::all_of(list.begin(), list.end(), [](auto n) { return n == 0; });
  };
  if (mode != Padding::from_parameters && !(zero(pad) && zero(pad_end)))
    io.param_error(
        "pad_mode",
        "is not 'given' and sets the padding, but pad or pad_end is not 0: needs only one of them");
}

/// Rejects a kernel without 1 to 3 axes.
inline void require_kernel(const tenon::Infer& io, const tenon::Ints& kernel) {
  if (kernel.size() < 1 || kernel.size() > 3)
    io.param_error("kernel", "has ", kernel.size(),
                   " values: needs 1 to 3, one for each spatial axis");
}

/// Rejects data with empty axes other than the batch.
inline void require_nonempty_samples(const tenon::Infer& io, const tenon::Shape& data) {
  for (int axis = 1; axis < data.rank(); ++axis)
    io.require(data[axis] != 0, "data is ", data, ": only the batch may be empty");
}

/// Rejects data without batch, channels and the window's axes.
inline void require_spatial(const tenon::Infer& io, const tenon::Shape& data, int axes) {
  io.require(data.rank() == axes + 2, "data is ", data, " but a kernel with ", axes,
             " values needs ", axes + 2, " dimensions: batch, channels and one for each value");
  require_nonempty_samples(io, data);
}

/// Sets the spatial axes of `output` to the number of window positions in data.
inline void set_output_sizes(const tenon::Infer& io, const Window& window, const tenon::Shape& data,
                             tenon::Shape& output) {
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto size = data[axis + 2];
    if (size == tenon::unknown) continue;
    io.require(window.reach(axis) <= window.padded(axis, size), "the kernel extends over ",
               window.reach(axis), " elements of axis ", axis + 2, ", but data ", data,
               " with padding has ", window.padded(axis, size));
    output.set(axis + 2, window.output_size(axis, size));
  }
}
