// Checks kernels in a session's reduced precision (bfloat16) against full precision.
#pragma once
#include <string>

#include "check/check.hpp"

namespace tenon::checks {

struct PrecisionCheck {
  int calls = 0;      ///< test calls with a reduced-precision kernel on this machine
  std::string fault;  ///< the first difference; empty: none
};

/// Describes the first element whose error exceeds that of bfloat16 products; empty if there is
/// none. `what` names the tensors, such as `output`.
std::string compare_rounded(const std::vector<Tensor>& rounded, const std::vector<Tensor>& full,
                            const char* what);

/// Checks outputs and gradients in precision bfloat16, with positive numbers to avoid cancellation.
PrecisionCheck check_precision(const CheckedOperator& checked);

}  // namespace tenon::checks
