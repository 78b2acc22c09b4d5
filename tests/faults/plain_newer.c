/* The operator of plain.c, one version later. */
#include "c_plugin.h"
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T0, TWO, NO), &sound_table)
