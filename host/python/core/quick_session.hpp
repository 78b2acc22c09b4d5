// The base of tenon.Session: runs on numpy arrays reuse what the previous run looked up.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_quick_session(nb::module_& module);

}  // namespace tenon::python
