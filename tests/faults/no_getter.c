#include "c_plugin.h"
RECORD(0)
ONLY_MANIFEST(no_getter, MANIFEST(T9 "no_getter", T0, ONE, NO))
