// The checks of <tenon/host/check.hpp>, for the child processes of tenon.check.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_check(nb::module_& module);

}  // namespace tenon::python
