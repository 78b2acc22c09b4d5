#include <tenon/elementwise.hpp>

//! case cpp17
// says: Tenon needs C++20: compile with -std=c++20
