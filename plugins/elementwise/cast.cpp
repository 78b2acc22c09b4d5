#include "cast.hpp"

TENON_OPERATOR(cast, Cast)
