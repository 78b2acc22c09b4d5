// The operators of this plugin.
#include "argmax.hpp"
#include "extremum.hpp"
#include "sum.hpp"

TENON_OPERATOR(argmax, Argmax)
TENON_OPERATOR(max, Max)
TENON_OPERATOR(min, Min)
TENON_OPERATOR(sum, Sum<Added>)
TENON_OPERATOR(mean, Sum<Averaged>)
