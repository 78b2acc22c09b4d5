// Sorts and scans for all bundled plugins, compiled once.
#include <tenon/gpu/sort_and_scan.hpp>
