#include "c_plugin.h"
RECORD(0)
static const tenon_operator table = {.size = 24, .abi_major = TENON_ABI_MAJOR};
OPERATOR(short_table, MANIFEST(T11 "short_table", T0, ONE, NO), &table)
