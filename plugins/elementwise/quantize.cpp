#include "quantize.hpp"

TENON_OPERATOR(quantize, Quantize)
