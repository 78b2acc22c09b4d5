#include "mean.hpp"

TENON_OPERATOR(mean, Mean)
