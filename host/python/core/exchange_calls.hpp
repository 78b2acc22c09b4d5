// An operator on arrays of another library, by its C functions of DLPack 1.3: what a registered operator of torch's calls.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_exchange_calls(nb::module_& module);

}  // namespace tenon::python
