// tenon.Operator: an operator as a function, and the fast path from numpy arrays to its kernel.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_operator(nb::module_& module);

}  // namespace tenon::python
