#include "dequantize.hpp"

TENON_OPERATOR(dequantize, Dequantize)
