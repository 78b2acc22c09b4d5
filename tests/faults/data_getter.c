/* The getter symbol is data: calling it would jump into the data. */
#include "c_plugin.h"
RECORD(0)
ONLY_MANIFEST(data_getter, MANIFEST(T11 "data_getter", T0, ONE, NO))
EXPORT int tenon_get_v1__data_getter = 1;
