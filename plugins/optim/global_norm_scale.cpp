#include "global_norm_scale.hpp"

TENON_OPERATOR(global_norm_scale, GlobalNormScale)
