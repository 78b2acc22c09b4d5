#include "tensor/sparse/sparse_rules.hpp"

#include <fmt/format.h>

#include <limits>
#include <tenon/dtype.hpp>

#include "io/counted.hpp"

namespace tenon {
namespace {

template <class Index>
std::span<const Index> as(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Index*>(bytes.data()), bytes.size() / sizeof(Index)};
}

std::string size_fault(const char* name, std::size_t found, std::uint64_t count,
                       std::uint64_t element) {
  std::uint64_t needed = 0;
  if (!__builtin_mul_overflow(count, element, &needed) && found == needed) return {};
  return fmt::format("its {} take {}, but need {} of {}", name, counted(found, "byte"),
                     counted(count, "entry", "entries"), counted(element, "byte"));
}

/// Checks that entries [begin, end) are strictly increasing and below `limit`.
template <class Index>
std::string order_fault(std::span<const Index> indices, std::size_t begin, std::size_t end,
                        std::int64_t limit, const char* what) {
  for (std::size_t i = begin; i < end; ++i) {
    if (indices[i] < 0 || indices[i] >= limit)
      return fmt::format("{0} index {1} is {2}, but there are {3} {0}s", what, i, indices[i],
                         limit);
    if (i > begin && indices[i] <= indices[i - 1])
      return fmt::format("{} {} is {}, after {}: they must be strictly increasing", what, i,
                         indices[i], indices[i - 1]);
  }
  return {};
}

template <class Index>
std::string csr_fault(const SparseBuffers& buffers) {
  const auto rows = buffers.type.dims[0], columns = buffers.type.dims[1];
  const auto starts = as<Index>(buffers.row_starts), column_of = as<Index>(buffers.indices);
  if (rows == std::numeric_limits<std::int64_t>::max())
    return "it has more rows than can be counted";
  if (auto fault = size_fault("row starts", buffers.row_starts.size(),
                              static_cast<std::uint64_t>(rows) + 1, sizeof(Index));
      !fault.empty())
    return fault;
  if (starts.front() != 0 || static_cast<std::uint64_t>(starts.back()) != buffers.stored)
    return fmt::format("its row starts go from {} to {}, not from 0 to {}", starts.front(),
                       starts.back(), buffers.stored);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row)
    if (starts[row + 1] < starts[row])
      return fmt::format(
          "row {} starts at {}, but row {} starts at {}: row starts must not decrease", row,
          starts[row], row + 1, starts[row + 1]);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const auto begin = static_cast<std::size_t>(starts[row]),
               end = static_cast<std::size_t>(starts[row + 1]);
    if (auto fault = order_fault(column_of, begin, end, columns, "column"); !fault.empty())
      return fault;
  }
  return {};
}

template <class Index>
std::string fault_of(const SparseBuffers& buffers) {
  const auto& type = buffers.type;
  const bool csr = type.storage == TENON_CSR;
  if (csr ? type.rank != 2 : type.rank < 1)
    return csr ? "csr needs two dimensions" : "row_sparse needs at least one dimension";
  std::uint64_t row_size = 1;  // in elements
  for (int axis = 1; !csr && axis < type.rank; ++axis)
    if (__builtin_mul_overflow(row_size, static_cast<std::uint64_t>(type.dims[axis]), &row_size))
      return "its rows are too long to count";
  std::uint64_t element = 0;
  if (__builtin_mul_overflow(row_size, std::uint64_t{size_of(static_cast<DType>(type.dtype))},
                             &element))
    return "its rows are too long to count";
  if (auto fault = size_fault("values", buffers.values.size(), buffers.stored, element);
      !fault.empty())
    return fault;
  if (auto fault = size_fault("indices", buffers.indices.size(), buffers.stored, sizeof(Index));
      !fault.empty())
    return fault;
  if (csr) return csr_fault<Index>(buffers);
  const auto rows = as<Index>(buffers.indices);
  return order_fault(rows, 0, rows.size(), type.dims[0], "row");
}

}  // namespace

std::string sparse_fault(const SparseBuffers& buffers) {
  if (buffers.index_dtype == TENON_I32) return fault_of<std::int32_t>(buffers);
  if (buffers.index_dtype == TENON_I64) return fault_of<std::int64_t>(buffers);
  return fmt::format("its indices have dtype {}, but must be int32 or int64", buffers.index_dtype);
}

}  // namespace tenon
