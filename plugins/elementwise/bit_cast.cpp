#include "bit_cast.hpp"

TENON_OPERATOR(bit_cast, BitCast)
