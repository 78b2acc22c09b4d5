/* The manifest speaks of another operator than the symbol does. */
#include "c_plugin.h"
RECORD(0)
OPERATOR(wrong_name, MANIFEST(T5 "plain", T0, ONE, NO), &sound_table)
