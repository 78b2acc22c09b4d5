#include "unlike_the_probe.h"
RECORD(0)
OPERATOR(exit_after_probe, MANIFEST(T16 "exit_after_probe", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (!in_probe()) _exit(0);
}
