// Rules that csr and row_sparse tensors from untrusted sources must satisfy before a kernel may
// follow their indices.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

struct SparseBuffers {
  tenon_type type{};  // fully known; storage is csr or row_sparse
  std::uint64_t stored = 0;
  std::uint8_t index_dtype = TENON_I64;
  std::span<const std::byte> values, indices, row_starts;  // aligned for their elements
};

/// Returns a sentence about the first broken rule; empty if there is none.
/// csr: two dimensions; `stored` values and columns; row_starts goes from 0 to stored and never
/// decreases; columns increase within each row.
/// row_sparse: at least one dimension; `stored` rows with ascending row IDs.
std::string sparse_fault(const SparseBuffers& buffers);

}  // namespace tenon
