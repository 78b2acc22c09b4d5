#include "max_unpool.hpp"

TENON_OPERATOR(max_unpool, MaxUnpool)
