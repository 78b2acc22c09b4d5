#include "concat.hpp"

TENON_OPERATOR(concat, Concat)
