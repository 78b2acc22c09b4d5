// Sorts and scans of all plugins here, compiled once.
#include <tenon/gpu/sort_and_scan.hpp>
