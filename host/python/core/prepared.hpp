// Calls prepared for inputs of known types, for the package's own modules.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_prepared(nb::module_& module);

}  // namespace tenon::python
