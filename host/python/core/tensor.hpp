// Tensors from whatever Python calls an array.
#pragma once
#include <tenon/host/session.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A tenon.Tensor, a numpy array, what has DLPack, or what numpy makes an array of. Shares memory where it can. Throws TypeError, or
/// Failure (usage).
Tensor any_tensor_from(nb::handle object);
std::vector<Tensor> tensors_from(nb::list given);  ///< None is an empty tensor
NamedTensors named_tensors_from(nb::dict given);

/// The same memory, not to be written; memory on a GPU as it is.
Tensor read_only_view(const Tensor& tensor);

void bind_tensor(nb::module_& module);

}  // namespace tenon::python
