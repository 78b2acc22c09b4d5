/* The operator of plain.c with another manifest, so that the two conflict. */
#include "c_plugin.h"
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T9 "otherwise", ONE, NO), &sound_table)
