// Tensors between pages that may not be touched.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>

namespace tenon::checks {

enum class Placement : std::uint8_t {
  apart,        ///< a page or more away from what may not be touched, aligned as the host's own tensors are
  unaligned,    ///< the same, one element further on
  after_guard,  ///< the first element right behind a guard page
  before_guard  ///< the last element right before one
};

/// All bytes are `fill`.
Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill);

/// Of one beside a guard page, or an empty one: from now on all of its memory is one.
void forbid(const Tensor& tensor);

/// From now on a touch of a guard page writes its sentence to the pipe, as the outcome of the check, and ends the process.
void report_guard_hits(int pipe);

}  // namespace tenon::checks
