#include <signal.h>

#include "c_plugin.h"
RECORD(0)
static const tenon_operator* fault(void) {
  raise(SIGILL);
  return &sound_table;
}
OPERATOR(crash_in_get, MANIFEST(T12 "crash_in_get", T0, ONE, NO), fault())
