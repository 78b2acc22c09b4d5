/* A valid plugin that needs a library in its folder, found by $ORIGIN. */
#include "../c_plugin.h"
int beside(void);
RECORD(0)
OPERATOR(needs_beside, MANIFEST(T12 "needs_beside", T0, ONE, NO), beside() == 7 ? &sound_table : 0)
