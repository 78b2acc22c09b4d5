// Like plugins built with an SDK older than 0.2: its backward_sparse assumes that the gradient with
// respect to gate is 0 wherever x is, which that SDK guessed.
#include <tenon/version.hpp>
#undef TENON_SDK_VERSION
#define TENON_SDK_VERSION 100
#include "knee.hpp"

TENON_OPERATOR(guesses_gradient, Knee)
