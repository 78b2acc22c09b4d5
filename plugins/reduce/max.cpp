#include "max.hpp"

TENON_OPERATOR(max, Max)
