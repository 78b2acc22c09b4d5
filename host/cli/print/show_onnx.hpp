// What an ONNX model consists of, for people or as JSON.
#pragma once
#include <optional>
#include <tenon/host/failure.hpp>
#include <tenon/host/onnx.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// `refusal`: what else a run would refuse. Returns 3 where operators are missing, else the refusal's kind, or 0.
int show_onnx(const Context& context, const onnx::ModelInfo& model, const std::optional<Failure>& refusal);

}  // namespace tenon::cli
