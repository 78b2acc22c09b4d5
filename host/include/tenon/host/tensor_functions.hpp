// Functions that make and compare tensors.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// A dense tensor on the CPU whose elements all are `value`, as the dtype rounds it. Throws Failure (usage) for a finite number that
/// the dtype cannot hold.
TENON_API Tensor full(DType dtype, const Shape& shape, double value);
TENON_API Tensor ones(DType dtype, const Shape& shape);

/// [count]: first, first + step, first + 2 step ... Throws Failure (usage) as full().
TENON_API Tensor arange(DType dtype, std::int64_t count, double first = 0, double step = 1);

/// Random numbers in [low, high), and normal ones. The same seed gives the same numbers on every machine (Philox 4x32-10, as operators
/// draw them). Throws Failure (usage) for dtypes that are not floating.
TENON_API Tensor random_uniform(DType dtype, const Shape& shape, std::uint64_t seed, double low = 0, double high = 1);
TENON_API Tensor random_normal(DType dtype, const Shape& shape, std::uint64_t seed, double mean = 0, double deviation = 1);

/// Rows [begin, end) of a tensor on the CPU. Those of a contiguous dense tensor share its elements, others are copied. Throws Failure
/// (usage) for a tensor without rows, for row_sparse, and for rows that are not there.
TENON_API Tensor rows(const Tensor& tensor, std::int64_t begin, std::int64_t end);

struct RandomOptions {
  Storage storage = Storage::dense;
  /// The part that is stored: elements of csr, rows of row_sparse; dense: elements that are not 0. Rounded to whole ones.
  double density = 1;
  std::uint64_t seed = 0;
  std::optional<double> low{}, high{};  ///< numbers in [low, high); default: [-1, 1) for floating dtypes, [0, 10) for integers, any bool
  std::uint64_t stream = 0;             ///< other numbers of the same seed, for several tensors
};

/// Random numbers of any dtype in any storage, for tests and benchmarks; the same on every machine. Throws Failure (usage) for bounds that
/// are no range of the dtype, a density outside of 0 to 1, and a shape that the storage does not have.
TENON_API Tensor random_tensor(DType dtype, const Shape& shape, const RandomOptions& options = {});

/// What all_close() found. It converts to true if the tensors are close; printed, it says where they are not.
struct Comparison {
  std::int64_t different = 0;              ///< elements
  std::vector<std::int64_t> first, worst;  ///< their places: the first, and the one that is farthest beyond what is allowed
  std::string text{};                      ///< empty if the tensors are close
  explicit operator bool() const { return text.empty(); }
};
inline std::ostream& operator<<(std::ostream& out, const Comparison& comparison) {
  return out << (comparison ? "close" : comparison.text);
}

struct CloseOptions {
  double rtol = -1;  ///< negative: 1e-3 for 16-bit floats, 1e-5 for float32, 1e-8 for float64, 0 for others
  double atol = 1e-8;
  bool equal_nan = false;
};

/// Whether dtype and shape are equal and each pair of elements satisfies |found - expected| <= atol + rtol * |expected|; infinities are
/// close to themselves, and NaN to nothing, unless equal_nan. Tensors of any storage and device. With doctest, CHECK(all_close(a, b))
/// prints:
///
///     2 of 64 elements differ: at [0, 3] 1.5 instead of 1.25; the worst at [5, 2] 3 instead of 1, where 1.001e-05 is allowed
TENON_API Comparison all_close(const Tensor& found, const Tensor& expected, const CloseOptions& options = {});

}  // namespace tenon
