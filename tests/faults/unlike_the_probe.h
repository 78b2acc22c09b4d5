/* A plugin that behaves well in the probe, and differently when loaded afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c_plugin.h"

static int in_probe(void) {
  char name[32] = "";
  FILE* file = fopen("/proc/self/comm", "re");
  if (file == NULL || fgets(name, sizeof name, file) == NULL) return 0;
  fclose(file);
  return strcmp(name, "tenon-probe\n") == 0;
}
