#include "normal.hpp"

TENON_OPERATOR(normal, Normal)
