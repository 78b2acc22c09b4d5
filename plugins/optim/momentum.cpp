#include "momentum.hpp"

TENON_OPERATOR(momentum, Momentum)
