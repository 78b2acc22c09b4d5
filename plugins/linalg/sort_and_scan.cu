// Sorts and scans of the other sources here.
#include <tenon/gpu/sort_and_scan.hpp>
