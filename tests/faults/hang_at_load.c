/* Hangs, and starts a process that hangs, too. */
#include <unistd.h>

#include "c_plugin.h"
RECORD(0)
OPERATOR(hang_at_load, MANIFEST(T12 "hang_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  fork();
  for (;;) pause();
}
