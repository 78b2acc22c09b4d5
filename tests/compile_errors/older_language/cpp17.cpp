// says: Tenon needs C++20: compile with -std=c++20
#include <tenon/elementwise.hpp>
