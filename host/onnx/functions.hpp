// A model's functions among each other.
#pragma once
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Fills Model::functions_by_name. Throws Failure (file) where two have the same domain, name and overload.
void index_functions(Model& model);
/// Throws Failure (file) that names the way where a function calls itself, directly or through others.
void refuse_cycles(const Model& model);

}  // namespace tenon::onnx
