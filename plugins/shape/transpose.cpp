#include "transpose.hpp"

TENON_OPERATOR(transpose, Transpose)
