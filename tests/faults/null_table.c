#include "c_plugin.h"
RECORD(0)
OPERATOR(null_table, MANIFEST(T10 "null_table", T0, ONE, NO), 0)
