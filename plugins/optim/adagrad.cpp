#include "adagrad.hpp"

TENON_OPERATOR(adagrad, AdaGrad)
