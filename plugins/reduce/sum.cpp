#include "sum.hpp"

TENON_OPERATOR(sum, Sum<Added>)
TENON_OPERATOR(mean, Sum<Averaged>)
