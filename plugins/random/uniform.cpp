#include "uniform.hpp"

TENON_OPERATOR(uniform, Uniform)
