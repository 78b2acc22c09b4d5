// The classes Trainer, Evaluator and LearningCurves, and confusion matrices.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

void bind_trainer(nb::module_& module);

}  // namespace tenon::python
