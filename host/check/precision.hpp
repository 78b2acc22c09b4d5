// Kernels that compute in a lower precision where a session asks for it, beside those that do not.
#pragma once
#include <string>

#include "check/check.hpp"

namespace tenon::checks {

struct PrecisionCheck {
  int calls = 0;      ///< that such a kernel computes on this machine
  std::string fault;  ///< empty: none
};

/// Describes the first element that differs by more than products in bfloat16 may; empty if none does. `what` names the tensors.
std::string compare_rounded(const std::vector<Tensor>& rounded, const std::vector<Tensor>& usual, const char* what);

/// Outputs and gradients in bfloat16, of positive numbers, so that nothing cancels out.
PrecisionCheck check_precision(const CheckedOperator& subject);

}  // namespace tenon::checks
