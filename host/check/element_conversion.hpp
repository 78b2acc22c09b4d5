// Converts user-provided elements to an input's dtype.
#pragma once
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon::checks {

/// A dense tensor of these numbers in row-major order.
Tensor elements_in(const std::vector<double>& numbers, DType dtype, const Shape& shape);
/// Returns the tensor itself if the dtype matches, else a dense copy with the nearest values;
/// complex numbers become their real parts in real dtypes.
Tensor elements_in(const Tensor& tensor, DType dtype);

}  // namespace tenon::checks
