#include "c_plugin.h"
RECORD(99)
OPERATOR(newer_minor, MANIFEST(T11 "newer_minor", T0, ONE, NO), &sound_table)
