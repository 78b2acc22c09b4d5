// The elements that authors and users give, in the dtype that the input has.
#pragma once
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon::checks {

/// A dense tensor of these numbers, row by row.
Tensor elements_in(const std::vector<double>& numbers, DType dtype, const Shape& shape);
/// The same elements, or those of a dense tensor as near as the dtype can have them: of complex ones, real dtypes have the real part.
Tensor elements_in(const Tensor& tensor, DType dtype);

}  // namespace tenon::checks
