#include "sum.hpp"

TENON_OPERATOR(sum, Sum)
