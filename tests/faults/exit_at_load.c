#include <stdlib.h>

#include "c_plugin.h"
RECORD(0)
OPERATOR(exit_at_load, MANIFEST(T12 "exit_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  exit(0);
}
