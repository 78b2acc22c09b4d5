#include "argmax.hpp"

TENON_OPERATOR(argmax, Argmax)
