// Elements in a dtype that holds them all.
#pragma once
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Whether every value of `from` is one of `to`. Conversions between small types are left to whoever made the elements.
bool widens(DType from, DType to);

/// A copy on the CPU, or the tensor itself if it has the dtype. The dtype must widen to `to`.
Tensor widened(const Tensor& tensor, DType to);

}  // namespace tenon
