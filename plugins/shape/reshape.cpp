#include "reshape.hpp"

TENON_OPERATOR(reshape, Reshape)
