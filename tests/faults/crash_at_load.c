#include <signal.h>

#include "c_plugin.h"
RECORD(0)
OPERATOR(crash_at_load, MANIFEST(T13 "crash_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  raise(SIGSEGV);
}
