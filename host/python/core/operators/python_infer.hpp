// The arguments `io` of infer() and `graph` of gradient() of operators in Python.
#pragma once
#include <tenon/gradient.hpp>
#include <tenon/infer.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// Calls infer(self, io). Throws what it raises.
void infer_in_python(nb::handle object, Infer& io, const detail::Names& names);
/// Calls gradient(self, graph). Throws what it raises.
void gradient_in_python(nb::handle object, tenon_gradient& raw, const detail::Names& names);

void bind_python_infer(nb::module_& module);

}  // namespace tenon::python
