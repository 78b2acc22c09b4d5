#include "scale_by.hpp"

TENON_OPERATOR(scale_by, ScaleBy)
