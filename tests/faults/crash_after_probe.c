#include "unlike_the_probe.h"
RECORD(0)
OPERATOR(crash_after_probe, MANIFEST(T17 "crash_after_probe", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (!in_probe()) *(volatile int*)8 = 1;
}
