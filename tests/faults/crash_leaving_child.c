/* Crashes while a process that it started keeps all inherited descriptors open. */
#include <signal.h>
#include <unistd.h>

#include "c_plugin.h"
RECORD(0)
OPERATOR(crash_leaving_child, MANIFEST(T19 "crash_leaving_child", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (fork() == 0) {
    for (;;) pause();
  }
  raise(SIGABRT);
}
