// Linear quantization.

#include "dequantize.hpp"
#include "quantize.hpp"

TENON_OPERATOR(quantize, Quantize)

TENON_OPERATOR(dequantize, Dequantize)
