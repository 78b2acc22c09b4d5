#include "rmsprop.hpp"

TENON_OPERATOR(rmsprop, RmsProp)
