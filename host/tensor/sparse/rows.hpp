// Selects, slices and concatenates rows of tensors.
#pragma once
#include <cstdint>
#include <span>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Returns rows [begin, end) of a dense contiguous CPU tensor, sharing its elements, or of a csr
/// matrix, as a copy.
Tensor row_range(const Tensor& tensor, std::int64_t begin, std::int64_t end);

/// Concatenates the rows of sparse tensors with the same storage, dtype and row shape; the result
/// has int64 indices. Each tensor is released as soon as it is copied, to limit peak memory.
Tensor join_sparse_rows(std::vector<Tensor> chunks);

/// Returns the rows `rows` of `csr`, in this order, possibly with repetitions; indices keep their
/// dtype. All entries of `rows` are below csr.shape()[0].
Tensor csr_rows(const Tensor& csr, std::span<const std::int64_t> rows);

}  // namespace tenon
