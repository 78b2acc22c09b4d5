/* Plugins, one for each FAULT_NAME, that crash, exit or hang when they are loaded. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c_plugin.h"

/* For plugins that behave well in the probe, and differently when loaded afterwards. */
static int in_probe(void) {
  char name[32] = "";
  FILE* file = fopen("/proc/self/comm", "re");
  if (file == NULL || fgets(name, sizeof name, file) == NULL) return 0;
  fclose(file);
  return strcmp(name, "tenon-probe\n") == 0;
}

#ifdef FAULT_crash_at_load
RECORD(0)
OPERATOR(crash_at_load, MANIFEST(T13 "crash_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  raise(SIGSEGV);
}
#endif

#ifdef FAULT_crash_in_get
RECORD(0)
static const tenon_operator* fault(void) {
  raise(SIGILL);
  return &sound_table;
}
OPERATOR(crash_in_get, MANIFEST(T12 "crash_in_get", T0, ONE, NO), fault())
#endif

#ifdef FAULT_crash_leaving_child
/* Crashes while a process that it started keeps all inherited descriptors open. */
RECORD(0)
OPERATOR(crash_leaving_child, MANIFEST(T19 "crash_leaving_child", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (fork() == 0) {
    for (;;) pause();
  }
  raise(SIGABRT);
}
#endif

#ifdef FAULT_exit_at_load
RECORD(0)
OPERATOR(exit_at_load, MANIFEST(T12 "exit_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  exit(0);
}
#endif

#ifdef FAULT_hang_at_load
/* Hangs, and starts a process that hangs, too. */
RECORD(0)
OPERATOR(hang_at_load, MANIFEST(T12 "hang_at_load", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  fork();
  for (;;) pause();
}
#endif

#ifdef FAULT_crash_after_probe
RECORD(0)
OPERATOR(crash_after_probe, MANIFEST(T17 "crash_after_probe", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (!in_probe()) *(volatile int*)8 = 1;
}
#endif

#ifdef FAULT_exit_after_probe
RECORD(0)
OPERATOR(exit_after_probe, MANIFEST(T16 "exit_after_probe", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (!in_probe()) _exit(0);
}
#endif

#ifdef FAULT_wants_no_descriptor
/* Crashes in the probe if descriptor 77, which the host has opened, is open there, too. */
RECORD(0)
OPERATOR(wants_no_descriptor, MANIFEST(T19 "wants_no_descriptor", T0, ONE, NO), &sound_table)
__attribute__((constructor)) static void fault(void) {
  if (in_probe() && fcntl(77, F_GETFD) != -1) abort();
}
#endif
