// Tensors from any kind of Python array.
#pragma once
#include <tenon/host/session.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A tenon.Tensor, a numpy array, an object with DLPack, or anything that numpy converts to an
/// array. Shares memory if possible. Throws TypeError, or Failure (usage).
Tensor any_tensor_from(nb::handle object);
std::vector<Tensor> tensors_from(nb::list source);  ///< None is an empty tensor
NamedTensors named_tensors_from(nb::dict source);

/// Returns a read-only view of the memory; a GPU tensor is returned unchanged.
Tensor read_only_view(const Tensor& tensor);

void bind_tensor(nb::module_& module);

}  // namespace tenon::python
