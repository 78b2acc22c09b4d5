#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/row_major.hpp>

#include "pad.hpp"

namespace {

/// The size of one axis of x, and the padding around it.
struct PaddedAxis {
  std::int64_t before, size, after;

  TENON_FN std::int64_t padded() const { return before + size + after; }
};

/// The positions along an axis of y to which an element of x is copied, in ascending order: low,
/// high, low + period, high + period ...
struct PaddedPositions {
  std::int64_t low, high, period, count;

  TENON_FN std::int64_t operator[](std::int64_t i) const {
    return (i % 2 == 0 ? low : high) + i / 2 * period;
  }
};

TENON_FN PaddedPositions range(std::int64_t first, std::int64_t last) {
  return {first, first + 1, 2, last - first + 1};
}

TENON_FN PaddedPositions positions_of(PadMode mode, const PaddedAxis& axis, std::int64_t at) {
  const auto direct = axis.before + at, end = axis.padded();
  if (mode == PadMode::constant) return range(direct, direct);
  if (mode == PadMode::edge || axis.size == 1)
    return range(at == 0 ? 0 : direct, at == axis.size - 1 ? end - 1 : direct);
  const auto period = 2 * (axis.size - 1), direct_phase = direct % period,
             mirrored_phase = (axis.before + period - at) % period;
  if (direct_phase == mirrored_phase)
    return {direct_phase, direct_phase + period, 2 * period, (end - 1 - direct_phase) / period + 1};
  const auto low = direct_phase < mirrored_phase ? direct_phase : mirrored_phase,
             high = direct_phase < mirrored_phase ? mirrored_phase : direct_phase;
  const auto low_count = low < end ? (end - 1 - low) / period + 1 : 0,
             high_count = high < end ? (end - 1 - high) / period + 1 : 0;
  return {low, high, period, low_count + high_count};
}

struct Padding {
  PadMode mode;
  PaddedAxis axes[tenon::max_rank];
  tenon::gpu::RowMajor x, y;
};

template <class T>
struct PadForward {
  Padding padding;
  const T* x;
  T* y;
  T fill[8 / sizeof(T)];  ///< all elements are equal, so that no byte of the launch arguments is
                          ///< undefined

  TENON_FN void operator()(std::int64_t i) const {
    std::int64_t source = 0, stride = 1;
    bool filled = false;
    padding.y.each_coordinate(i, [&](int a, std::int64_t coordinate) {
      const auto& axis = padding.axes[a];
      const auto at = pad_source(padding.mode, coordinate - axis.before, axis.size);
      filled |= at < 0;
      source += at * stride;
      stride *= axis.size;
    });
    y[i] = filled ? fill[0] : x[source];
  }
};

/// Each element of dx is the sum of the elements of dy that were copied from it, in their order.
template <class T, class Sum>
struct PadBackward {
  Padding padding;
  const T* dy;
  T* dx;

  TENON_FN void operator()(std::int64_t i) const {
    PaddedPositions positions[tenon::max_rank];
    std::int64_t terms = 1;
    padding.x.each_coordinate(i, [&](int a, std::int64_t at) {
      positions[a] = positions_of(padding.mode, padding.axes[a], at);
      terms *= positions[a].count;
    });
    Sum sum = 0;
    for (std::int64_t term = 0; term < terms; ++term) {
      std::int64_t number = term, offset = 0, stride = 1;
      for (int a = padding.x.rank() - 1; a >= 0; --a) {
        const auto outer =
            positions[a].count == 1
                ? number
                : number / positions[a].count;  // most elements have a single position
        offset += positions[a][number - outer * positions[a].count] * stride;
        stride *= padding.axes[a].padded();
        number = outer;
      }
      sum += static_cast<Sum>(dy[offset]);
    }
    dx[i] = static_cast<T>(sum);
  }
};

}  // namespace

struct PadCuda : Pad {
  static constexpr bool capturable = true;
  /// Integer types added in 0.2, complex numbers, widths from inputs, negative widths and a subset
  /// of the axes are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    for (int i = 1; i <= 3; ++i)
      if (types.has_input(i)) return false;
    for (const auto* list : {&before, &after})
      for (const auto amount : *list)
        if (amount < 0) return false;
    return axes.empty() && mode != PadMode::wrap && tenon::any_type.has(types.input(0).dtype);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      PadForward<T> body{padding(x.shape()), x.data(), y.data(), {}};
      std::fill(std::begin(body.fill), std::end(body.fill), static_cast<T>(value));
      tenon::gpu::for_each(call, y.size(), body);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const auto dx = call.input_grad<T>(0);
      tenon::gpu::for_each(
          call, dx.size(),
          PadBackward<T, Sum>{padding(dx.shape()), call.output_grad<T>(0).data(), dx.data()});
    });
  }

 private:
  Padding padding(const tenon::Shape& x) const {
    Padding padding{mode, {}, {}, {}};
    for (int a = 0; a < x.rank(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      padding.axes[a] = {before[i], x[a], after[i]};
      padding.x.push(x[a]);
      padding.y.push(padding.axes[a].padded());
    }
    return padding;
  }
};
TENON_KERNEL(pad, cuda, PadCuda)
