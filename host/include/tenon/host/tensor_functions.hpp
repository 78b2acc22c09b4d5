// Functions that make and compare tensors.
#pragma once
#include <cstdint>
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>

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

/// Whether dtype and shape are equal and each pair of elements satisfies |left - right| <= absolute + relative * |right|; infinities are
/// close to themselves, and NaN to nothing. Tensors of any storage and device. `relative` < 0: 1e-3 for 16-bit floats, 1e-5 for float32,
/// 1e-8 for float64.
TENON_API bool all_close(const Tensor& left, const Tensor& right, double relative = -1, double absolute = 1e-8);

}  // namespace tenon
