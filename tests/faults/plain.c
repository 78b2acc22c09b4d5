/* No fault. */
#include "c_plugin.h"
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T0, ONE, NO), &sound_table)
