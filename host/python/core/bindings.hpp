// Adds classes and functions to the module.
#pragma once
#include "python/core/interpreter.hpp"

namespace tenon::python {

/// tenon.Operator: an operator as a function, and the fast path from numpy arrays to its kernel.
void bind_operator(nb::module_& module);

/// The base of tenon.Session: runs on numpy arrays reuse what the previous run looked up.
void bind_quick_session(nb::module_& module);

/// The classes Trainer, Evaluator and LearningCurves, and confusion matrices.
void bind_trainer(nb::module_& module);

/// Calls prepared for inputs of known types, for the package's own modules.
void bind_prepared(nb::module_& module);

/// The checks of <tenon/host/check.hpp>, for the child processes of tenon.check.
void bind_check(nb::module_& module);

}  // namespace tenon::python
