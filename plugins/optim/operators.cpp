// Registers the operators of this plugin.
#include "adagrad.hpp"
#include "adaptive_moments.hpp"
#include "global_norm_scale.hpp"
#include "heavy_ball.hpp"
#include "rmsprop.hpp"
#include "scale_by.hpp"
#include "sgd.hpp"

TENON_OPERATOR(adagrad, AdaGrad)
TENON_OPERATOR(adam, Adam)
TENON_OPERATOR(adamw, AdamW)
TENON_OPERATOR(global_norm_scale, GlobalNormScale)
TENON_OPERATOR(momentum, Momentum)
TENON_OPERATOR(nesterov, Nesterov)
TENON_OPERATOR(rmsprop, RmsProp)
TENON_OPERATOR(scale_by, ScaleBy)
TENON_OPERATOR(sgd, Sgd)
