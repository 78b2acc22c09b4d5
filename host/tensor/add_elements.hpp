// Accumulation and copying of outputs by the host, for kernels that cannot write to their final
// memory.
#pragma once
#include <tenon/host/tensor.hpp>

namespace tenon {

/// to[i] += from[i]; booleans are combined by or. Both tensors are contiguous, have the same dtype
/// and shape, and do not overlap. Tensors on a GPU are added on the CPU and copied back.
void add_elements(const Tensor& from, const Tensor& to);
/// to[i] = from[i], with the same requirements, between any devices.
void copy_elements(const Tensor& from, const Tensor& to);

}  // namespace tenon
