// Neighbouring rows of a tensor, taken apart and put together.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Rows [begin, end) of a contiguous dense tensor on the CPU, which share its elements, or of a csr matrix, which are copied.
Tensor row_range(const Tensor& tensor, std::int64_t begin, std::int64_t end);

/// The rows of sparse tensors of one storage, dtype and row shape, one behind the other, with int64 indices. Each piece is given up as soon
/// as it is copied, so that no element is held twice for long.
Tensor join_sparse_rows(std::vector<Tensor> pieces);

}  // namespace tenon
