#include "cumulate.hpp"

TENON_OPERATOR(cumulate, Cumulate)
