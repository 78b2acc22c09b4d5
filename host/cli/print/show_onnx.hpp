// What an ONNX model consists of, for people or as JSON.
#pragma once
#include <tenon/host/onnx.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// Returns 3 where operators are missing, else 0.
int show_onnx(const Context& context, const onnx::ModelInfo& model);

}  // namespace tenon::cli
