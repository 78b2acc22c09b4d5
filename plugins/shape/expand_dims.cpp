#include "expand_dims.hpp"

TENON_OPERATOR(expand_dims, ExpandDims)
