#include "take_rows.hpp"

TENON_OPERATOR(take_rows, TakeRows)
