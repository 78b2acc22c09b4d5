#include "adam.hpp"

TENON_OPERATOR(adam, Adam)
