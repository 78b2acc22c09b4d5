#include "pad.hpp"

TENON_OPERATOR(pad, Pad)
