#include "slice.hpp"

TENON_OPERATOR(slice, Slice)
