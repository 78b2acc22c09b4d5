// Row selection from csr matrices.
#pragma once
#include <cstdint>
#include <span>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Returns the rows `rows` of `csr`, in this order, possibly with repetitions; indices keep their
/// dtype. All entries of `rows` are below csr.shape()[0].
Tensor csr_rows(const Tensor& csr, std::span<const std::int64_t> rows);

}  // namespace tenon
