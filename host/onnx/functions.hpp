// Checks of a model's functions as a whole.
#pragma once
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Fills Model::functions_by_name. Throws Failure (file) if two functions have the same domain,
/// name and overload.
void index_functions(Model& model);
/// Throws Failure (file) with the call path if a function calls itself, directly or through others.
void refuse_cycles(const Model& model);

}  // namespace tenon::onnx
