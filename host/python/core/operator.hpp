// tenon.Operator: an operator as a function, and the short way from numpy's arrays to its kernel.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_operator(nb::module_& module);

}  // namespace tenon::python
