#include "squeeze.hpp"

TENON_OPERATOR(squeeze, Squeeze)
