// Registers the operators of this plugin that have headers of their own.
#include "bit_cast.hpp"
#include "cast.hpp"
#include "dequantize.hpp"
#include "quantize.hpp"
#include "test_add.hpp"

TENON_OPERATOR(bit_cast, BitCast)
TENON_OPERATOR(cast, Cast)
TENON_OPERATOR(dequantize, Dequantize)
TENON_OPERATOR(quantize, Quantize)
TENON_OPERATOR(test_add, TestAdd)
