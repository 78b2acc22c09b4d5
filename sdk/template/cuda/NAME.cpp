// The operator with its CPU kernel.
#include "@NAME@.hpp"

TENON_OPERATOR(@NAME@, @CLASS@)
