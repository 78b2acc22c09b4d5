// What csr and row_sparse tensors from a file must keep to before a kernel may follow their indices.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

struct SparseParts {
  tenon_type type{};  // known; its storage is csr or row_sparse
  std::uint64_t stored = 0;
  std::uint8_t index_dtype = TENON_I64;
  std::span<const std::byte> values, indices, row_starts;  // aligned for their elements
};

/// One sentence about the first rule that is broken; empty where none is.
/// csr: two dimensions; `stored` values and columns; row_starts goes from 0 to stored and never down; columns ascend within each row.
/// row_sparse: at least one dimension; `stored` rows, whose numbers ascend.
std::string sparse_fault(const SparseParts& parts);

}  // namespace tenon
