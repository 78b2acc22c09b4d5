#include "nesterov.hpp"

TENON_OPERATOR(nesterov, Nesterov)
