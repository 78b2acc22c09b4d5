// Registers the operators of this plugin.
#include "normal.hpp"
#include "uniform.hpp"

TENON_OPERATOR(normal, Normal)
TENON_OPERATOR(uniform, Uniform)
