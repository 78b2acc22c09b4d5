// Registers the operators of this plugin.
#include "argmax.hpp"
#include "cumulative.hpp"
#include "extremum.hpp"
#include "prod.hpp"
#include "sum.hpp"
#include "top_k.hpp"

TENON_OPERATOR(argmax, Argmax)
TENON_OPERATOR(argmin, Argmin)
TENON_OPERATOR(cumprod, Cumprod)
TENON_OPERATOR(cumsum, Cumsum)
TENON_OPERATOR(max, Max)
TENON_OPERATOR(min, Min)
TENON_OPERATOR(prod, Prod)
TENON_OPERATOR(sum, Sum<Added>)
TENON_OPERATOR(mean, Sum<Averaged>)
TENON_OPERATOR(top_k, TopK)
