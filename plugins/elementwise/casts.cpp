// Conversions between dtypes.

#include "bit_cast.hpp"
#include "cast.hpp"

TENON_OPERATOR(cast, Cast)

TENON_OPERATOR(bit_cast, BitCast)
