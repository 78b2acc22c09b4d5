// The CPU's vector capabilities.
#pragma once
#include <string>

namespace tenon {

/// Returns a description for messages, such as `a CPU with AVX2 and no AVX-512`.
std::string describe_processor();

}  // namespace tenon
