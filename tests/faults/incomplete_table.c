#include "c_plugin.h"
RECORD(0)
static const tenon_operator table = {
    .size = sizeof table, .abi_major = TENON_ABI_MAJOR, .infer = infer, .forward = forward};
OPERATOR(incomplete_table, MANIFEST(T16 "incomplete_table", T0, ONE, NO), &table)
