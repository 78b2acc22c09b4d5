#include "col2im.hpp"

TENON_OPERATOR(col2im, Col2im)
