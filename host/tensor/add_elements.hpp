// What the host does itself where no kernel writes an output where it is wanted.
#pragma once
#include <tenon/host/tensor.hpp>

namespace tenon {

/// to[i] += from[i]; booleans are joined by or. Both are contiguous, of one dtype and shape, and do not overlap. What lies on a GPU is
/// added on the CPU and copied back.
void add_elements(const Tensor& from, const Tensor& to);
/// to[i] = from[i], under the same terms, from any device to any.
void copy_elements(const Tensor& from, const Tensor& to);

}  // namespace tenon
