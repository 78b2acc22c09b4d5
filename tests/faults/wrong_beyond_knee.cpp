#include "knee.hpp"

TENON_OPERATOR(wrong_beyond_knee, Knee)
