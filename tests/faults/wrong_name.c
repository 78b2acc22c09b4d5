/* The manifest's operator name differs from the symbol's. */
#include "c_plugin.h"
RECORD(0)
OPERATOR(wrong_name, MANIFEST(T5 "plain", T0, ONE, NO), &sound_table)
