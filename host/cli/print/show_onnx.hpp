// Descriptions of ONNX models, as text or JSON.
#pragma once
#include <optional>
#include <tenon/host/failure.hpp>
#include <tenon/host/onnx.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// `refusal` is the first error other than missing operators that would prevent a run. Returns 3 if
/// operators are missing, else the refusal's exit code, or 0.
int show_onnx(const Context& context, const onnx::ModelInfo& model,
              const std::optional<Failure>& refusal);

}  // namespace tenon::cli
