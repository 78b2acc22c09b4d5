#include "min.hpp"

TENON_OPERATOR(min, Min)
