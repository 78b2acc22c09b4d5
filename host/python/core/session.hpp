// The class Session.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_session(nb::module_& module);

}  // namespace tenon::python
