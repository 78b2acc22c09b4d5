// The base of tenon.Session: a run of numpy's arrays without a look-up that the run before has made.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_quick_session(nb::module_& module);

}  // namespace tenon::python
