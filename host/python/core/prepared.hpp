// Calls prepared for inputs of given types, as the package's own modules use them.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_prepared(nb::module_& module);

}  // namespace tenon::python
