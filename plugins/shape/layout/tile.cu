// CUDA kernels of tile, trilu and reverse_sequence: each element of the output is an element of x,
// or 0.
#include "../../shared/offset_calculator.hpp"
#include "reverse_sequence.hpp"
#include "rows/rows_on_device.hpp"
#include "shared/box_walk.hpp"
#include "slicing/trilu.hpp"
#include "tile.hpp"

namespace {

/// to[i] = from[offset(i)], or 0 if offset(i) is -1.
template <class T, class Indexing>
struct TakeEach {
  Indexing indexing;
  const T* from;
  T* to;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto at = indexing(i);
    to[i] = at < 0 ? T{} : from[at];
  }
};

template <class Indexing>
void take_each(const tenon::Call& call, const Indexing& indexing, std::int64_t count,
               std::size_t size, const std::byte* from, std::byte* to) {
  const auto take = [&]<int bytes>(std::integral_constant<int, bytes>) {
    tenon::gpu::for_each(
        call, count,
        TakeEach<Unit<bytes>, Indexing>{indexing, reinterpret_cast<const Unit<bytes>*>(from),
                                        reinterpret_cast<Unit<bytes>*>(to)});
  };
  switch (size) {
    case 1:
      return take(std::integral_constant<int, 1>());
    case 2:
      return take(std::integral_constant<int, 2>());
    case 4:
      return take(std::integral_constant<int, 4>());
    case 8:
      return take(std::integral_constant<int, 8>());
    default:
      return take(std::integral_constant<int, 16>());
  }
}

/// Sizes of x and of the tiled result for each axis.
struct Repetition {
  int rank = 0;
  std::int64_t x[tenon::max_rank] = {}, y[tenon::max_rank] = {};

  Repetition(const tenon::Shape& of_x, const tenon::Shape& of_y) : rank(of_x.rank()) {
    for (int a = 0; a < rank; ++a) x[a] = of_x[a], y[a] = of_y[a];
  }

  /// Index in x of element i of y.
  TENON_FN std::int64_t operator()(std::int64_t i) const {
    std::int64_t offset = 0, stride = 1;
    for (int a = rank - 1; a >= 0; --a) {
      offset += i % y[a] % x[a] * stride;
      i /= y[a];
      stride *= x[a];
    }
    return offset;
  }
};

/// The gradient of an element of x: the sum over its copies, in their order.
template <class T>
struct SumRepetitions {
  Repetition sizes;
  const T* dy;
  T* dx;

  TENON_FN void operator()(std::int64_t i) const {
    using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
    std::int64_t first = 0, strides[tenon::max_rank], stride = 1, times = 1, element = i;
    for (int a = sizes.rank - 1; a >= 0; --a) {
      strides[a] = stride;
      first += element % sizes.x[a] * stride;
      element /= sizes.x[a];
      stride *= sizes.y[a];
      times *= sizes.y[a] / sizes.x[a];
    }
    Sum sum = 0;
    for (std::int64_t t = 0; t < times; ++t) {
      auto offset = first, rest = t;
      for (int a = sizes.rank - 1; a >= 0; --a) {
        const auto repeats = sizes.y[a] / sizes.x[a];
        offset += rest % repeats * sizes.x[a] * strides[a];
        rest /= repeats;
      }
      sum += static_cast<Sum>(dy[offset]);
    }
    dx[i] = static_cast<T>(sum);
  }
};

/// The source of each element: itself in the triangle of its matrix, -1 outside.
struct InTriangle {
  std::int64_t rows, columns, diagonal;
  bool upper;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    const auto column = i % columns, right = column - (i / columns % rows + diagonal);
    return (upper ? right >= 0 : right <= 0) ? i : -1;
  }
};

/// The source of each element: the first steps of each sequence are reversed.
struct InReverse {
  const std::int64_t* lengths;
  std::int64_t sequences, sequence_stride, steps, step_stride;
  tenon::gpu::Fault fault;

  TENON_DEVICE std::int64_t operator()(std::int64_t i) const {
    const auto length = lengths[i / sequence_stride % sequences], step = i / step_stride % steps;
    if (!fault.fits(length, steps + 1)) return -1;
    return step < length ? i + (length - 1 - 2 * step) * step_stride : i;
  }
};

}  // namespace

struct TileCuda : Tile {
  static constexpr bool capturable = true;
  /// Gradients of complex numbers are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return !tenon::any_complex.has(types.input(0).dtype);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    checked(call);
    take_each(call, Repetition(x.shape, y.shape), y.shape.size(), tenon::size_of(x.dtype),
              bytes::input(call, 0), bytes::output(call, 0));
  }

  void backward(const tenon::Call& call) const {
    const auto x = call.input_type(0), y = call.output_type(0);
    checked(call);
    tenon::visit<tenon::floating>(x.dtype, [&]<class T>() {
      tenon::gpu::for_each(
          call, x.shape.size(),
          SumRepetitions<T>{Repetition(x.shape, y.shape), call.output_grad<T>(0).data(),
                            call.input_grad<T>(0).data()});
    });
  }
};
TENON_KERNEL(tile, cuda, TileCuda)

struct TriluCuda : Trilu {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    cut(call, bytes::input(call, 0), bytes::output(call, 0));
  }
  void backward(const tenon::Call& call) const {
    cut(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 private:
  void cut(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const auto x = call.input_type(0);
    if (x.shape.size() == 0) return;
    take_each(call, InTriangle{x.shape[-2], x.shape[-1], diagonal_of(call), upper}, x.shape.size(),
              tenon::size_of(x.dtype), from, to);
  }
};
TENON_KERNEL(trilu, cuda, TriluCuda)

struct ReverseSequenceCuda : ReverseSequence {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    reverse(call, bytes::input(call, 0), bytes::output(call, 0));
  }
  void backward(const tenon::Call& call) const {
    reverse(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 private:
  void reverse(const tenon::Call& call, const std::byte* from, std::byte* to) const {
    const auto x = call.input_type(0);
    if (x.shape.size() == 0) return;
    const auto batch = axis_of(batch_axis, x.shape.rank()),
               time = axis_of(time_axis, x.shape.rank());
    const auto strides = row_major(x.shape);
    const InReverse indexing{call.input<std::int64_t>(1).data(),       x.shape[batch],
                             strides[static_cast<std::size_t>(batch)], x.shape[time],
                             strides[static_cast<std::size_t>(time)],  tenon::gpu::Fault(call)};
    take_each(call, indexing, x.shape.size(), tenon::size_of(x.dtype), from, to);
  }
};
TENON_KERNEL(reverse_sequence, cuda, ReverseSequenceCuda)
