#include "sgd.hpp"

TENON_OPERATOR(sgd, Sgd)
