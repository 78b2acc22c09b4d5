// How a loss gathers its terms: the parameter that the losses share.
#pragma once
#include <cstdint>

enum class Reduction : std::int32_t { mean, sum, none };
