// Functions that create and compare tensors.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// A dense CPU tensor with all elements `value`, rounded to the dtype. Throws Failure (usage) for a
/// finite number that the dtype cannot hold.
TENON_API Tensor full(DType dtype, const Shape& shape, double value);
TENON_API Tensor ones(DType dtype, const Shape& shape);

/// [count]: first, first + step, first + 2 step ... Throws Failure (usage) as full() does.
TENON_API Tensor arange(DType dtype, std::int64_t count, double first = 0, double step = 1);

/// Random numbers, uniform in [low, high) or normal. The same seed gives the same numbers on every
/// machine (Philox 4x32-10, as used by operators). Throws Failure (usage) for dtypes that are not
/// floating.
TENON_API Tensor random_uniform(DType dtype, const Shape& shape, std::uint64_t seed, double low = 0,
                                double high = 1);
TENON_API Tensor random_normal(DType dtype, const Shape& shape, std::uint64_t seed, double mean = 0,
                               double deviation = 1);

/// Rows [begin, end) of a CPU tensor. Rows of a contiguous dense tensor share its elements, others
/// are copied. Throws Failure (usage) for a tensor without rows, for row_sparse, and for rows out
/// of range.
TENON_API Tensor rows(const Tensor& tensor, std::int64_t begin, std::int64_t end);

struct RandomOptions {
  Storage storage = Storage::dense;
  /// The stored fraction: elements of csr, rows of row_sparse; dense: elements that are not 0. The
  /// number is rounded to an integer.
  double density = 1;
  std::uint64_t seed = 0;
  std::optional<double> low{}, high{};  ///< numbers in [low, high); default: [-1, 1) for floating
                                        ///< dtypes, [0, 10) for integers, any bool
  std::uint64_t stream = 0;  ///< different numbers for the same seed, to generate several tensors
};

/// Random numbers of any dtype in any storage, for tests and benchmarks; the same on every machine.
/// Throws Failure (usage) for bounds that are not a range of the dtype, a density outside of 0 to
/// 1, and a shape that the storage does not support.
TENON_API Tensor random_tensor(DType dtype, const Shape& shape, const RandomOptions& options = {});

/// The result of all_close(). Converts to true if the tensors are close; printed, it says where
/// they differ.
struct Comparison {
  std::int64_t different = 0;  ///< number of elements
  std::vector<std::int64_t> first,
      worst;  ///< positions: the first, and the one with the largest excess over the tolerance
  std::string text{};  ///< empty if the tensors are close
  explicit operator bool() const { return text.empty(); }
};
inline std::ostream& operator<<(std::ostream& out, const Comparison& comparison) {
  return out << (comparison ? "close" : comparison.text);
}

struct CloseOptions {
  double rtol =
      -1;  ///< negative: 1e-3 for 16-bit floats, 1e-5 for float32, 1e-8 for float64, 0 for others
  double atol = 1e-8;
  bool equal_nan = false;
};

/// Whether dtype and shape are equal and each pair of elements satisfies |found - expected| <= atol
/// + rtol * |expected|. Infinities are close to themselves; NaN is close to nothing, unless
/// equal_nan. Tensors may have any storage and device. With doctest, CHECK(all_close(a, b)) prints:
///
///     2 of 64 elements differ: at [0, 3] 1.5 instead of 1.25; the worst at [5, 2] 3 instead of 1,
///     where 1.001e-05 is allowed
TENON_API Comparison all_close(const Tensor& found, const Tensor& expected,
                               const CloseOptions& options = {});

}  // namespace tenon
