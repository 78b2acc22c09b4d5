#include "c_plugin.h"
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = 2,
                                     .create = create,
                                     .destroy = destroy,
                                     .infer = infer,
                                     .forward = forward};
OPERATOR(other_major_table, MANIFEST(T17 "other_major_table", T0, ONE, NO), &table)
