// Some rows of a csr matrix.
#pragma once
#include <cstdint>
#include <span>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Rows `rows` of `csr`, in that order, a row perhaps several times; indices of the same dtype. All are below csr.shape()[0].
Tensor csr_rows(const Tensor& csr, std::span<const std::int64_t> rows);

}  // namespace tenon
