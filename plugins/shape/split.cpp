#include "split.hpp"

TENON_OPERATOR(split, Split)
