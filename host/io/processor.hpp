// What this machine's CPU can compute with.
#pragma once
#include <string>

namespace tenon {

/// `a CPU with AVX2 and no AVX-512`, for messages.
std::string describe_processor();

}  // namespace tenon
